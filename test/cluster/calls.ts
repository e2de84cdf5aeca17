import type { Namespace } from './kubectl.ts';
import { makeKeys } from './load.ts';

/** The guild of the simulators' demo world. */
export const GUILD = '900000000000000001';
export const ADA = { chat_id: '920000000000000001', game_id: 7001, game_username: 'AdaBuilds' };

/** A request to each service with its expected status, in an order in which each finds the data that it needs. */
const CALLS: readonly [service: string, method: string, path: string, body: unknown, status: number][] = [
  ['gateway and auth', 'GET', '/whoami', undefined, 200],
  ['members', 'POST', '/verification/link', { guild_id: GUILD, ...ADA }, 201],
  ['lookup', 'GET', `/lookup/chat/${ADA.chat_id}`, undefined, 200],
  ['members, the chat platform', 'GET', `/guilds/${GUILD}/members?limit=5`, undefined, 200],
  ['bindings', 'GET', '/bindings/list', undefined, 200],
  ['moderation', 'POST', `/moderation/${GUILD}/game/status`, { game_ids: [7001] }, 200],
  [
    'activity',
    'POST',
    '/game/servers/heartbeat',
    { guild_id: GUILD, server_id: 'server-1', place_id: 4001, player_count: 1, max_players: 30 },
    200,
  ],
  ['activity, lookup and members', 'GET', `/guilds/${GUILD}/staff/game/7001/permissions`, undefined, 200],
];

/** Sends the requests through a forwarded port; returns the unexpected responses. */
export async function callEveryService(namespace: Namespace, gateway: string): Promise<string[]> {
  const [{ key } = { key: '' }] = await makeKeys(namespace, [GUILD]);
  const { url, close } = await namespace.forward(`service/${gateway}`, 80);
  const faults: string[] = [];
  try {
    for (const [service, method, path, body, status] of CALLS) {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          'x-api-key': key,
          'x-guild-id': GUILD,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(20_000),
      });
      const text = await response.text();
      if (response.status !== status)
        faults.push(`${service}: ${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
    }
  } finally {
    close();
  }
  return faults;
}
