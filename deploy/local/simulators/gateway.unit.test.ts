import { afterEach, beforeEach, expect, test } from 'vitest';
import { GatewayClient } from './gateway-client.ts';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';
import { World } from './world.ts';

const guildId = '900000000000000001';
const userId = (last: number) => `9200000000000000${String(last).padStart(2, '0')}`;
const roleId = (last: number) => `9100000000000000${String(last).padStart(2, '0')}`;
const GUILDS = 1;
const GUILD_MEMBERS = 2;
const both = GUILDS | GUILD_MEMBERS;

let simulators: Simulators;
let clients: GatewayClient[];
let now: number;

beforeEach(async () => {
  now = 1_700_000_000_000;
  clients = [];
  simulators = await startSimulators({ clock: () => now, limits: { identify: { count: 100, seconds: 5 } } });
});
afterEach(async () => {
  for (const client of clients) client.cut();
  await simulators.stop();
});

const control = (method: string, path: string, body?: unknown) => call(simulators.chat + path, { method, body });
const ask = (method: string, path: string, body?: unknown) =>
  call(`${simulators.chat}/api/v10${path}`, { method, body, headers: { authorization: 'Bot token' } });
const join = (user: string, guild = guildId) => control('POST', '/__members', { guild, user, action: 'join' });

async function connect(query = 'v=10&encoding=json'): Promise<GatewayClient> {
  const { body } = await ask('GET', '/gateway/bot');
  const client = new GatewayClient(`${(body as { url: string }).url}?${query}`);
  clients.push(client);
  return client;
}

/** A client that has identified and received the guilds of its shard. */
async function identified(intents = both, shard?: [number, number]) {
  const client = await connect();
  client.send(2, { token: 'token', intents, properties: {}, ...(shard && { shard }) });
  const ready = await client.event('READY');
  if (intents & GUILDS) for (const _guild of ready.d['guilds'] as unknown[]) await client.event('GUILD_CREATE');
  return { client, id: String(ready.d['session_id']), ready };
}

/** A new connection that resumes a session after an event. */
async function resume(sessionId: string, seq: number) {
  const client = await connect();
  client.send(6, { token: 'token', session_id: sessionId, seq });
  return client;
}

test('the address comes with the limits of starting sessions', async () => {
  await identified();
  expect((await ask('GET', '/gateway/bot')).body).toEqual({
    url: `${simulators.chat.replace('http', 'ws')}/gateway`,
    shards: 1,
    session_start_limit: { total: 1000, remaining: 999, reset_after: 86_400_000, max_concurrency: 100 },
  });
  expect((await call(`${simulators.chat}/api/v10/gateway/bot`)).status).toBe(401);
});

test('a session starts with hello, ready and the guilds; heartbeats are acknowledged', async () => {
  const client = await connect();
  expect(await client.next()).toMatchObject({ op: 10, d: { heartbeat_interval: 41_250 } });
  client.send(1, null);
  expect(await client.next()).toMatchObject({ op: 11 });
  client.send(2, { token: 'token', intents: both });
  expect(await client.next()).toMatchObject({
    op: 0,
    t: 'READY',
    s: 1,
    d: { v: 10, user: { bot: true }, guilds: [{ id: guildId, unavailable: true }], shard: [0, 1] },
  });
  expect(await client.next()).toMatchObject({
    t: 'GUILD_CREATE',
    s: 2,
    d: { id: guildId, member_count: 13, members: [{ user: { bot: true } }], roles: { 0: { name: '@everyone' } } },
  });
});

test('joins, changes by REST and by administrators, leaves and roles are reported in order', async () => {
  const { client } = await identified();
  const nora = userId(20);
  await join(nora);
  await ask('PUT', `/guilds/${guildId}/members/${nora}/roles/${roleId(6)}`);
  await ask('PUT', `/guilds/${guildId}/members/${nora}/roles/${roleId(6)}`);
  await ask('PATCH', `/guilds/${guildId}/members/${nora}`, { nick: 'N' });
  await control('POST', '/__members', { guild: guildId, user: nora, action: 'update', roles: [] });
  await control('POST', '/__members', { guild: guildId, user: nora, action: 'leave' });
  await control('POST', '/__roles', { guild: guildId, action: 'update', role: { id: roleId(6), name: 'V' } });
  await control('POST', '/__roles', { guild: guildId, action: 'delete', role: { id: roleId(6) } });
  const of = { guild_id: guildId, user: { id: nora } };
  const expected = [
    { t: 'GUILD_MEMBER_ADD', s: 3, d: { ...of, roles: [], communication_disabled_until: null } },
    { t: 'GUILD_MEMBER_UPDATE', s: 4, d: { ...of, roles: [roleId(6)] } },
    { t: 'GUILD_MEMBER_UPDATE', s: 5, d: { ...of, nick: 'N' } },
    { t: 'GUILD_MEMBER_UPDATE', s: 6, d: { ...of, roles: [] } },
    { t: 'GUILD_MEMBER_REMOVE', s: 7, d: of },
    { t: 'GUILD_ROLE_UPDATE', s: 8, d: { guild_id: guildId, role: { id: roleId(6), name: 'V' } } },
    { t: 'GUILD_ROLE_DELETE', s: 9, d: { guild_id: guildId, role_id: roleId(6) } },
  ];
  for (const event of expected) expect(await client.event()).toMatchObject(event);
});

test('a client receives only the events of its intents', async () => {
  const { client: members } = await identified(GUILD_MEMBERS);
  const { client: guilds } = await identified(GUILDS);
  await join(userId(20));
  await control('POST', '/__roles', { guild: guildId, action: 'update', role: { id: roleId(6), name: 'V' } });
  expect(await members.event()).toMatchObject({ t: 'GUILD_MEMBER_ADD', s: 2 });
  expect(await guilds.event()).toMatchObject({ t: 'GUILD_ROLE_UPDATE', s: 3 });
});

test('a shard has the guilds whose ID, without its last 22 bits, leaves its number', async () => {
  const bot = { id: '930000000000000001' };
  const ids = [0n, 1n, 2n, 3n].map((index) => String(((900_000_000_000n + index) << 22n) + 5n));
  const guilds = ids.map((id) => ({ id, name: id, bot }));
  simulators.world.replace(new World({ chat: { guilds } }).data);
  const { ready, client } = await identified(both, [1, 2]);
  expect(ready.d['guilds']).toMatchObject([{ id: ids[1] }, { id: ids[3] }]);
  await join(userId(1), ids[0]);
  await join(userId(1), ids[3]);
  expect(await client.event()).toMatchObject({ t: 'GUILD_MEMBER_ADD', d: { guild_id: ids[3] } });
});

test('a cut session is resumed with the events that it missed', async () => {
  const { client, id } = await identified();
  await join(userId(20));
  expect(await client.event()).toMatchObject({ s: 3 });
  await control('POST', '/__gateway', { action: 'cut' });
  expect(await client.closed).toBe(1006);
  await join(userId(21));
  const resumed = await resume(id, 2);
  expect(await resumed.event()).toMatchObject({ t: 'GUILD_MEMBER_ADD', s: 3, d: { user: { id: userId(20) } } });
  expect(await resumed.event()).toMatchObject({ t: 'GUILD_MEMBER_ADD', s: 4, d: { user: { id: userId(21) } } });
  expect(await resumed.event()).toMatchObject({ t: 'RESUMED', s: 5 });
  await join(userId(22));
  expect(await resumed.event()).toMatchObject({ s: 6 });
  expect((await control('GET', '/__gateway')).body).toMatchObject({
    identified: 1,
    resumed: 1,
    connections: 1,
    sessions: [{ session_id: id, connected: true, seq: 6 }],
  });
});

test('a session that was forgotten, closed by its client, or left for three minutes cannot be resumed', async () => {
  const invalid = { op: 9, d: false };
  const forgotten = await identified();
  await control('POST', '/__gateway', { action: 'forget' });
  await forgotten.client.closed;
  const left = await identified();
  await control('POST', '/__gateway', { action: 'close', code: 4009 });
  expect(await left.client.closed).toBe(4009);
  const ended = await identified();
  ended.client.close(1000);
  await ended.client.closed;
  now += 180_000;
  for (const { id } of [forgotten, left, ended]) expect(await (await resume(id, 2)).op(9)).toMatchObject(invalid);
});

test('a number that the session has not reached is refused when it is resumed', async () => {
  const { client, id } = await identified();
  client.cut();
  expect(await (await resume(id, 99)).closed).toBe(4007);
});

test('a session is invalid after a replaced world or on request, and asked to reconnect on request', async () => {
  const { client } = await identified();
  await control('POST', '/__gateway', { action: 'reconnect' });
  expect(await client.next()).toMatchObject({ op: 7 });
  await control('POST', '/__gateway', { action: 'invalidate', shard: 0 });
  expect(await client.next()).toMatchObject({ op: 9, d: false });
  // The same connection may identify again.
  client.send(2, { token: 'token', intents: GUILD_MEMBERS });
  expect(await client.event()).toMatchObject({ t: 'READY', s: 1 });
  simulators.world.replace(structuredClone(simulators.world.data));
  expect(await client.next()).toMatchObject({ op: 9, d: false });
});

test('a silent connection acknowledges nothing, and its events are kept for a resume', async () => {
  const { client, id } = await identified();
  await control('POST', '/__gateway', { action: 'silence' });
  client.send(1, 2);
  await join(userId(20));
  const resumed = await resume(id, 2);
  expect(await resumed.event()).toMatchObject({ t: 'GUILD_MEMBER_ADD', s: 3 });
  expect(await client.closed).toBe(1006);
  expect(client.waiting).toBe(0);
});

test('a connection without heartbeats is closed, and its session can be resumed', async () => {
  simulators.world.data.chat.gateway.heartbeat_interval_ms = 10;
  const { client, id } = await identified();
  expect(await client.closed).toBe(4000);
  simulators.world.data.chat.gateway.heartbeat_interval_ms = 60_000;
  expect(await (await resume(id, 2)).event()).toMatchObject({ t: 'RESUMED' });
});
