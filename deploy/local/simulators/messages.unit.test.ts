import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BusMessage } from './game/messages.ts';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';

let simulators: Simulators;
let now: number;

beforeEach(async () => {
  now = 1_700_000_000_000;
  simulators = await startSimulators({ clock: () => now, limits: { 'cloud-messages': { count: 20, seconds: 60 } } });
});
afterEach(() => simulators.stop());

const publish = (body: unknown, key = 'key', universe = '501') =>
  call(`${simulators.game}/cloud/v2/universes/${universe}:publishMessage`, {
    method: 'POST',
    headers: { 'x-api-key': key },
    body,
  });
const control = (method: string, path: string, body?: unknown) => call(simulators.game + path, { method, body });
const introspect = async (apiKey: string) =>
  (await control('POST', '/api-keys/v1/introspect', { apiKey })).body as { expired: boolean };
const invalid = { status: 400, body: { code: 'INVALID_ARGUMENT' } };

function describeKeys(...keys: object[]) {
  const { chat } = simulators.world.data;
  simulators.world.replace({ chat, game: { keys } });
}

test('a message reaches the subscribers of its universe and topic, and the control shows it', async () => {
  const received: BusMessage[] = [];
  const end = simulators.messages.subscribe('501', 'wake', (message) => received.push(message));
  simulators.messages.subscribe('502', 'wake', (message) => received.push(message));
  expect(await publish({ topic: 'wake', message: 'now' })).toMatchObject({ status: 200, body: {} });
  await publish({ topic: 'other', message: 'now' });
  expect(received).toMatchObject([{ universe: '501', topic: 'wake', message: 'now', delivered_at: now }]);
  end();
  await publish({ topic: 'wake', message: 'again' });
  expect(received.length).toBe(1);
  const shown = await control('GET', '/__messages?universe=501&topic=wake&after=1');
  expect(shown.body).toMatchObject({ accepted: 3, messages: [{ seq: 3, message: 'again' }] });
});

test('a slow bus delivers after its delay; what it drops never arrives', async () => {
  await control('PUT', '/__messages', { delay_ms: 20, drop_every: 2 });
  const arrival = new Promise<BusMessage>((resolve) => simulators.messages.subscribe('501', 'wake', resolve));
  for (const message of ['one', 'two', 'three']) await publish({ topic: 'wake', message });
  expect((await control('GET', '/__messages')).body).toEqual({ accepted: 3, messages: [] });
  expect(await arrival).toMatchObject({ message: 'one' });
  now += 20;
  expect((await control('GET', '/__messages')).body).toMatchObject({
    messages: [{ message: 'one' }, { message: 'three' }],
  });
  expect((await control('PUT', '/__messages', { delay_ms: -1 })).status).toBe(400);
  await control('DELETE', '/__messages');
  expect((await control('GET', '/__messages')).body).toEqual({ accepted: 0, messages: [] });
});

test('a topic has 1 to 80 characters and a message at most 1 KiB', async () => {
  expect((await publish({ topic: 't'.repeat(80), message: 'm'.repeat(1024) })).status).toBe(200);
  for (const body of [
    {},
    { topic: '', message: 'm' },
    { topic: 't'.repeat(81), message: 'm' },
    { topic: 't', message: 'ü'.repeat(513) },
    { topic: 't', message: 5 },
  ])
    expect(await publish(body)).toMatchObject(invalid);
  expect(await publish({ topic: 't', message: 'm' }, 'key', 'x')).toMatchObject(invalid);
});

test('above the limit a publication gets 429 and reaches nobody', async () => {
  for (let index = 0; index < 20; index += 1) await publish({ topic: 't', message: 'm' });
  expect(await publish({ topic: 't', message: 'm' })).toMatchObject({ status: 429 });
  expect((await control('GET', '/__messages')).body).toMatchObject({ accepted: 20 });
});

test('a key that the world describes needs the scope and the universe; any other key may do everything', async () => {
  const read = { key: 'reader', scopes: ['universe.user-restriction:read'] };
  const send = { key: 'sender', scopes: ['universe-messaging-service:publish'], universe_ids: [502] };
  describeKeys(read, send, { ...send, key: 'off', enabled: false });
  const message = { topic: 't', message: 'm' };
  expect((await publish(message)).status).toBe(200);
  expect(await publish(message, 'reader')).toMatchObject({ status: 403, body: { code: 'PERMISSION_DENIED' } });
  expect((await publish(message, 'sender')).status).toBe(403);
  expect((await publish(message, 'sender', '502')).status).toBe(200);
  expect((await publish(message, 'off', '502')).status).toBe(401);
  const restriction = `${simulators.game}/cloud/v2/universes/501/user-restrictions/7001`;
  const headers = { 'x-api-key': 'reader' };
  expect((await call(restriction, { headers })).status).toBe(200);
  const body = { gameJoinRestriction: { active: true } };
  expect((await call(restriction, { method: 'PATCH', headers, body })).status).toBe(403);
});

test('introspection shows scopes, universes and the end of a key, and an expired key gets 401', async () => {
  const scopes = ['universe.user-restriction:read', 'universe.user-restriction:write'];
  const expiresAt = new Date(now + 1000).toISOString();
  describeKeys({ key: 'ours', name: 'Ours', owner_id: 9, scopes, universe_ids: [501], expires_at: expiresAt });
  expect(await introspect('ours')).toEqual({
    name: 'Ours',
    authorizedUserId: 9,
    scopes: [{ name: 'universe.user-restriction', operations: ['read', 'write'], universeIds: ['501'] }],
    enabled: true,
    expired: false,
    expirationTimeUtc: expiresAt,
  });
  now += 1000;
  expect(await introspect('ours')).toMatchObject({ expired: true });
  expect((await publish({ topic: 't', message: 'm' }, 'ours')).status).toBe(401);
  expect(await introspect('another')).toMatchObject({ enabled: true, expired: false, scopes: { length: 3 } });
  expect((await control('POST', '/api-keys/v1/introspect', {})).status).toBe(400);
});
