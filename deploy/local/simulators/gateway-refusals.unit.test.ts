import { afterEach, beforeEach, expect, test } from 'vitest';
import { GatewayClient } from './gateway-client.ts';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';

let simulators: Simulators;
let now: number;

beforeEach(async () => {
  now = 1_700_000_000_000;
  simulators = await startSimulators({ clock: () => now });
});
afterEach(() => simulators.stop());

const connect = (query = 'v=10&encoding=json') =>
  new GatewayClient(`${simulators.chat.replace('http', 'ws')}/gateway?${query}`);
const identity = { token: 'token', intents: 3 };

test.each([
  ['without a token', { intents: 1 }, 4004],
  ['without intents', { token: 'token' }, 4013],
  ['with unknown intents', { ...identity, intents: 1 << 27 }, 4013],
  ['with the intent of presences', { ...identity, intents: 1 << 8 }, 4014],
  ['for a shard that does not exist', { ...identity, shard: [2, 2] }, 4010],
  ['for a shard that is no pair of numbers', { ...identity, shard: 'all' }, 4010],
])('a client that identifies %s is closed', async (_what, data, code) => {
  const client = connect();
  client.send(2, data);
  expect(await client.closed).toBe(code);
});

test('members are not reported to a bot without the privileged intent', async () => {
  const [guild] = simulators.world.data.chat.guilds;
  if (guild) guild.bot.members_intent = false;
  const client = connect();
  client.send(2, identity);
  expect(await client.closed).toBe(4014);
});

test('more than 2,500 guilds need a second shard', async () => {
  const guilds = Array.from({ length: 2501 }, (_, index) => {
    const id = String(900_000_000_000_000_000n + BigInt(index));
    return { id, name: id, bot: { id: '930000000000000001' } };
  });
  simulators.world.replace({ chat: { guilds } });
  const client = connect();
  client.send(2, identity);
  expect(await client.closed).toBe(4011);
});

test.each([
  ['before it identified', '{"op":3,"d":{}}', 4003],
  ['that is not JSON', '{"op":', 4002],
  ['that is no object', '[]', 4002],
  ['over 4 KiB', `{"op":1,"d":"${'x'.repeat(4096)}"}`, 4002],
])('a payload %s closes the connection', async (_what, text, code) => {
  const client = connect();
  client.sendText(text);
  expect(await client.closed).toBe(code);
});

test('an unknown opcode, and identifying twice, close the connection', async () => {
  const unknown = connect();
  unknown.send(2, identity);
  await unknown.event('READY');
  unknown.send(99, {});
  expect(await unknown.closed).toBe(4001);
  now += 5000;
  const twice = connect();
  twice.send(2, identity);
  twice.send(2, identity);
  expect(await twice.closed).toBe(4005);
});

test('more than 120 payloads in a minute close the connection', async () => {
  const client = connect();
  for (let index = 0; index < 121; index += 1) client.send(1, null);
  expect(await client.closed).toBe(4008);
});

test('only one client may identify in 5 seconds; a second one is told that its session is invalid', async () => {
  const [first, second] = [connect(), connect()];
  first.send(2, identity);
  await first.event('READY');
  second.send(2, identity);
  expect(await second.op(9)).toMatchObject({ d: false });
  now += 5000;
  second.send(2, identity);
  expect(await second.event()).toMatchObject({ t: 'READY' });
});

test('another version, another encoding and compression are refused', async () => {
  expect(await connect('v=8&encoding=json').closed).toBe(4012);
  expect(await connect('v=10&encoding=etf').closed).toBe(4002);
  expect(await connect('v=10&encoding=json&compress=zlib-stream').closed).toBe(4002);
});

test('faults make the websocket unreachable', async () => {
  for (const fault of [{ status: 503 }, { reset: true }]) {
    await call(`${simulators.chat}/__faults`, { method: 'POST', body: { match: '/gateway', times: 1, ...fault } });
    expect(await connect().closed).toBe(1006);
  }
  expect(await connect().next()).toMatchObject({ op: 10 });
  const elsewhere = new GatewayClient(`${simulators.chat.replace('http', 'ws')}/other`);
  expect(await elsewhere.closed).toBe(1006);
  const { body } = await call(`${simulators.chat}/__calls`);
  expect(body).toMatchObject({ calls: { 'UPGRADE /gateway': 3, 'UPGRADE (unknown)': 1 } });
});
