import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CommandAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { activityRoutes } from '#proto/rest/activity.ts';
import { CATEGORIES } from '#proto/rest/limits.ts';
import { connect } from '../network/grpc.ts';
import { type Call, type CallResult, GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

const SERVER = 'c9f1d1a0-7a54-4f5e-9f0b-3a4e8a1d2c77';

let network: Network;
let key: string;
let admin: ReturnType<typeof connect<typeof CommandAdminServiceService>>;

beforeAll(async () => {
  network = await startNetwork({ environment: { MAX_IN_FLIGHT: '50' } });
  key = (await network.createKey()).secret;
  const address = network.address('activity', 'grpc');
  admin = connect(CommandAdminServiceService, 'activity', address, undefined, [network.secrets.admin]);
});
afterAll(async () => {
  admin.close();
  await network.stop();
});

const post = (path: string, fields: object, call: Call = {}): Promise<CallResult> =>
  network.call(path, { method: 'POST', key, body: { guild_id: GUILD, ...fields }, ...call });
const poll = (server: string, query = '') =>
  network.call(`/game/servers/${server}/commands${query}`, { key, headers: { 'x-guild-id': GUILD } });
const beat = (server: string, fields: object = {}) =>
  post('/game/servers/heartbeat', { server_id: server, place_id: 40001, player_count: 1, max_players: 30, ...fields });
const session = { game_id: 7001, game_username: 'AdaBuilds', place_id: 40001, server_id: SERVER };

async function send(server: string): Promise<string> {
  const { commandIds } = await admin.client.enqueueCommands({
    guildId: GUILD,
    servers: { $case: 'serverId', value: server },
    type: 'kick',
    target: { gameId: 7001 },
    payload: '{"reason":"spam"}',
    actor: 'ada',
  });
  return commandIds[0] ?? '';
}

const success = (code: number, message: string, data: object) => ({ status: 'success', code, message, data });
const number = expect.any(Number) as number;

describe('each route returns its documented response', () => {
  it('POST /game/games/register', async () => {
    const { status, json } = await post('/game/games/register', {
      universe_id: 30001,
      place_id: 40001,
      name: 'Harbor Life',
      plugin_version: '2.4.0',
    });
    const config = {
      server_heartbeat_seconds: 15,
      staff_heartbeat_seconds: 60,
      poll_seconds: 15,
      permission_cache_seconds: 300,
    };
    expect(status).toBe(200);
    expect(json).toEqual(success(200, 'Game registered', { registration_id: number, created: true, config }));
  });

  it('POST /staff/game/action, 201 and then 200', async () => {
    const action = { actor_game_id: 7001, action_type: 'kick', action_id: randomUUID(), details: [] };
    const responses = [await post('/staff/game/action', action), await post('/staff/game/action', action)];
    expect(responses.map(({ status, json }) => [status, json])).toEqual([
      [201, success(201, 'Action logged', { id: action.action_id })],
      [200, success(200, 'Action was logged before', { id: action.action_id })],
    ]);
  });

  it('POST /staff/game/session/start, heartbeat and session/end', async () => {
    const started = await post('/staff/game/session/start', session);
    const { session_id: id } = started.json.data;
    const data = { session_id: expect.any(String), started_at: number, resumed: false };
    expect([started.status, started.json]).toEqual([201, success(201, 'Session started', data)]);
    const resumed = await post('/staff/game/session/start', session);
    const again = success(200, 'Session resumed', { ...started.json.data, resumed: true });
    expect([resumed.status, resumed.json]).toEqual([200, again]);
    const beats = await post('/staff/game/heartbeat', {
      server_id: SERVER,
      sessions: [{ session_id: id, idle_seconds: 12 }, { session_id: 'x' }],
    });
    expect([beats.status, beats.json]).toEqual([
      200,
      success(200, 'Heartbeat received', { active: [id], stale: ['x'] }),
    ]);
    const ended = await post('/staff/game/session/end', { session_id: id, reason: 'left' });
    const times = { started_at: started.json.data.started_at, ended_at: number, duration_seconds: number };
    expect(ended.json).toEqual(success(200, 'Session ended', { session_id: id, ...times, idle_seconds: 12 }));
    expect((await post('/staff/game/session/end', { session_id: id })).json.data).toEqual(ended.json.data);
  });

  it('POST /game/servers/heartbeat, GET …/commands and POST …/ack', async () => {
    expect((await beat(SERVER)).json).toEqual(
      success(200, 'Heartbeat received', {
        server_time: number,
        next_heartbeat_seconds: 15,
        commands: [],
        wake_up_topic: `guild-data-${GUILD}`,
      }),
    );
    const id = await send(SERVER);
    const polled = await poll(SERVER, '?wait=25');
    const command = {
      command_id: id,
      type: 'kick',
      target: { game_id: 7001, game_username: null },
      payload: { reason: 'spam' },
      issued_by: 'operator',
      created_at: number,
      expires_at: number,
      attempt: 1,
      lease_expires_at: number,
    };
    expect(polled.json).toEqual(success(200, 'Commands polled', { commands: [command], poll_after_seconds: 15 }));
    const ack = await post(`/game/servers/${SERVER}/commands/${id}/ack`, {
      status: 'success',
      result: { kicked: true },
    });
    expect(ack.json).toEqual(
      success(200, 'Command acknowledged', { command_id: id, status: 'success', acked_at: number }),
    );
  });

  it('POST, GET and DELETE /guilds/:guildId/commands: a command is sent, read and cancelled', async () => {
    const path = `/guilds/${GUILD}/commands`;
    await beat('commanded');
    const body = { type: 'broadcast', payload: { text: 'Restart soon' }, server_id: 'commanded' };
    const sent = await network.call(path, { method: 'POST', key, body });
    const { command_id: id } = sent.json.data;
    const data = { command_id: expect.any(String), servers: 1, expires_at: number };
    expect([sent.status, sent.json]).toEqual([201, success(201, 'Command sent', data)]);
    const read = await network.call(`${path}/${id}`, { key });
    expect([read.status, read.json.data.servers]).toMatchObject([200, [{ server_id: 'commanded', state: 'queued' }]]);
    const cancelled = await network.call(`${path}/${id}`, { method: 'DELETE', key });
    expect(cancelled.json).toEqual(success(200, 'Command cancelled', { cancelled: 1 }));
    const { commands } = (await network.call(`${path}?state=cancelled`, { key })).json.data;
    expect(commands).toMatchObject([{ command_id: id, outcome: { servers: 1, delivered: 0, cancelled: 1 } }]);
  });
});

describe('each route rejects', () => {
  const bodies: Record<string, object> = {
    '/game/games/register': { universe_id: 1, place_id: 1, name: 'x' },
    '/staff/game/action': { actor_game_id: 1, action_type: 'kick', action_id: randomUUID() },
    '/staff/game/session/start': session,
    '/staff/game/heartbeat': { server_id: SERVER, sessions: [] },
    '/staff/game/session/end': { session_id: randomUUID() },
    '/game/servers/heartbeat': { server_id: SERVER, place_id: 1, player_count: 0, max_players: 0 },
    '/game/servers/:serverId/commands/:commandId/ack': { status: 'success' },
  };
  const calls = Object.values(activityRoutes).map((route) => {
    const path = route.path
      .replace(':guildId', GUILD)
      .replace(':gameId', '7001')
      .replace(':serverId', SERVER)
      .replace(':commandId', randomUUID());
    const body = { guild_id: GUILD, ...bodies[route.path] };
    const headers: Record<string, string> = route.guild === 'header' ? { 'x-guild-id': GUILD } : {};
    const options: Call = route.method === 'GET' ? { headers } : { method: route.method, body };
    return { route, path, options };
  });

  const ofOther = (path: string, options: Call): [string, Call] =>
    JSON.parse(JSON.stringify([path, options]).replaceAll(GUILD, OTHER_GUILD)) as [string, Call];

  // A guild has at most ten keys, fewer than there are routes.
  let narrow: string;
  beforeAll(async () => {
    narrow = (await network.createKey({ guildId: OTHER_GUILD, scopes: ['lookup:read'] })).secret;
  });

  it.each(calls)(
    '$route.method $route.path without its scope, with the scope named',
    async ({ route, path, options }) => {
      const [place, own] = ofOther(path, options);
      const { status, json } = await network.call(place, { ...own, key: narrow });
      expect([status, json.details]).toEqual([403, { code: 'MISSING_SCOPE', required_scope: route.scope }]);
    },
  );

  it.each(calls)('$route.method $route.path for another guild', async ({ path, options }) => {
    const [place, other] = ofOther(path, options);
    const { status, json } = await network.call(place, { ...other, key });
    expect([status, json.details.code]).toEqual([403, 'GUILD_MISMATCH']);
  });

  const outsideOfPath = calls.filter(({ route }) => route.guild !== 'path');
  it.each(outsideOfPath)('$route.method $route.path without a guild', async ({ route, path, options }) => {
    const without = JSON.parse(JSON.stringify(options).replace(/"(?:guild_id|x-guild-id)":"\d+",?/, '')) as Call;
    const { status, json } = await network.call(path, { ...without, key });
    const field = route.method === 'GET' ? 'header.X-Guild-ID' : 'body.guild_id';
    expect([status, json.details.errors]).toEqual([400, [{ path: field, message: 'is required' }]]);
  });

  it.each(calls)('$route.method $route.path counted in its category', async ({ route, path, options }) => {
    const { headers } = await network.call(path, { ...options, key });
    const category = route.category && CATEGORIES[route.category];
    expect(headers.get('x-ratelimit-limit')).toBe(String(category?.limit));
  });

  it('an empty server ID, as in the editor, with 422 and the reason', async () => {
    const { status, json } = await beat('');
    expect([status, json.details.code]).toEqual([422, 'NOT_APPLICABLE']);
    expect(json.message).toContain('editor');
  });
});

describe('waiting polls', () => {
  async function openPolls(): Promise<number> {
    const metrics = await (await fetch(`http://${network.address('activity', 'admin')}/metrics`)).text();
    return Number(/^activity_open_polls (\d+)$/m.exec(metrics)?.[1]);
  }

  it('do not count as in flight, and may wait for longer than other requests may take', async () => {
    const polls: Promise<CallResult>[] = [];
    // Until they wait in the service they count as in flight. One guild has a tenth of the slots, which is 5.
    while (polls.length < 12) {
      polls.push(poll(`waits-${polls.length}`, '?wait=10'));
      await expect.poll(openPolls).toBe(polls.length);
    }
    const started = performance.now();
    expect((await beat('beside')).status).toBe(200);
    expect(performance.now() - started).toBeLessThan(2_000);
    for (const { status, json } of await Promise.all(polls)) expect([status, json.data.commands]).toEqual([200, []]);
    expect(await openPolls()).toBe(0);
  });

  it('get a new command through gateway and service', async () => {
    const woken = poll('wakes', '?wait=25');
    await expect.poll(openPolls).toBe(1);
    const id = await send('wakes');
    expect((await woken).json.data.commands).toMatchObject([{ command_id: id }]);
  });

  it('end in the service when the client disconnects from the gateway', async () => {
    const gone = new AbortController();
    const options = { key, headers: { 'x-guild-id': GUILD }, signal: gone.signal };
    const waiting = network.call('/game/servers/goes/commands?wait=25', options);
    await expect.poll(openPolls).toBe(1);
    gone.abort();
    await expect(waiting).rejects.toThrow('aborted');
    // Long before the poll times out.
    await expect.poll(openPolls, { timeout: 10_000 }).toBe(0);
  });

  it('get an empty response immediately when their gateway drains, and no command is lost', async () => {
    const other = await network.startOne('gateway', { GATEWAY_PORT: '0' });
    await expect.poll(async () => (await poll('drained-0')).status).toBe(200);
    const polls = Array.from({ length: 4 }, (_, n) => poll(`drained-${n}`, '?wait=25'));
    await expect.poll(openPolls).toBe(4);
    const stopped = other.stop();
    const empty = success(200, 'Commands polled', { commands: [], poll_after_seconds: 15 });
    for (const { status, json, headers } of await Promise.all(polls)) {
      expect([status, json, headers.get('connection')]).toEqual([200, empty, 'close']);
    }
    await stopped;
    await expect.poll(openPolls, { timeout: 10_000 }).toBe(0);
    await network.startOne('gateway');
    const ids = await Promise.all(polls.map((_, n) => send(`drained-${n}`)));
    const taken = await Promise.all(polls.map((_, n) => poll(`drained-${n}`)));
    expect(taken.map(({ json }) => json.data.commands)).toMatchObject(
      ids.map((id) => [{ command_id: id, attempt: 1 }]),
    );
  });

  it('are answered empty when the service drains', async () => {
    const waiting = poll('drains', '?wait=25');
    await expect.poll(openPolls).toBe(1);
    const ports = network.samePorts('activity');
    await network.services.get('activity')?.stop();
    const { status, json } = await waiting;
    expect([status, json.data.commands]).toEqual([200, []]);
    await network.startOne('activity', ports);
    await expect.poll(async () => (await poll('drains')).status).toBe(200);
  });
});
