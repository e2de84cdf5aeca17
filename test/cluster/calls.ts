import { DEPLOYABLES } from '#local/processes.ts';
import type { Namespace } from './kubectl.ts';
import { makeKeys } from './load.ts';

/** The guild of the simulators' demo world. */
export const GUILD = '900000000000000001';
export const ADA = { chat_id: '920000000000000001', game_id: 7001, game_username: 'AdaBuilds' };

/** A request, the services that must work for it, and its expected status. */
type Call = [services: string[], method: string, path: string, body: unknown, status: number];

/** Requests to the gateway, in an order in which each finds the data that it needs. */
const CALLS: readonly Call[] = [
  [['gateway', 'auth'], 'GET', '/whoami', undefined, 200],
  [['members'], 'POST', '/verification/link', { guild_id: GUILD, ...ADA }, 201],
  [['lookup'], 'GET', `/lookup/chat/${ADA.chat_id}`, undefined, 200],
  [['members'], 'GET', `/guilds/${GUILD}/members?limit=5`, undefined, 200],
  [['bindings'], 'GET', '/bindings/list', undefined, 200],
  [['moderation'], 'POST', `/moderation/${GUILD}/game/status`, { game_ids: [7001] }, 200],
  [
    ['activity'],
    'POST',
    '/game/servers/heartbeat',
    { guild_id: GUILD, server_id: 'server-1', place_id: 4001, player_count: 1, max_players: 30 },
    200,
  ],
  [['activity', 'lookup', 'members'], 'GET', `/guilds/${GUILD}/staff/game/7001/permissions`, undefined, 200],
  [['events'], 'GET', '/events?limit=10', undefined, 200],
];
/** Requests to the console without a session: the app, and an endpoint for which the console calls auth. */
const CONSOLE_CALLS: readonly Call[] = [
  [['console'], 'GET', '/', undefined, 200],
  [['console', 'auth'], 'GET', '/console/providers', undefined, 200],
];

/** Sends the requests through forwarded ports; returns the unexpected responses, and the services to which none was sent. */
export async function callEveryService(namespace: Namespace, release: string): Promise<string[]> {
  const called = [...CALLS, ...CONSOLE_CALLS].flatMap(([services]) => services);
  const forgotten = DEPLOYABLES.filter(({ name }) => !called.includes(name));
  const [{ key } = { key: '' }] = await makeKeys(namespace, [GUILD]);
  const headers = { 'x-api-key': key, 'x-guild-id': GUILD };
  return [
    ...forgotten.map(({ name }) => `no request is sent to ${name}`),
    ...(await faultsOf(namespace, `${release}-gateway`, '/api/v1', CALLS, headers)),
    ...(await faultsOf(namespace, `${release}-console`, '', CONSOLE_CALLS, {})),
  ];
}

/** Sends requests to a Service; returns the unexpected responses. */
async function faultsOf(
  namespace: Namespace,
  service: string,
  prefix: string,
  calls: readonly Call[],
  headers: Record<string, string>,
): Promise<string[]> {
  const { url, close } = await namespace.forward(`service/${service}`, 80);
  const faults: string[] = [];
  try {
    for (const [services, method, path, body, status] of calls) {
      const response = await fetch(`${url}${prefix}${path}`, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(20_000),
      });
      const text = await response.text();
      if (response.status !== status)
        faults.push(`${services.join(', ')}: ${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
    }
  } finally {
    close();
  }
  return faults;
}
