import { afterEach, beforeEach, expect, test } from 'vitest';
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

const headers = { 'x-api-key': 'key' };
const base = 'universes/501/user-restrictions';
const get = (path: string) => call(`${simulators.game}/cloud/v2/${path}`, { headers });
const patch = (path: string, fields: object, query = '') =>
  call(`${simulators.game}/cloud/v2/${path}?${query}`, {
    method: 'PATCH',
    headers,
    body: { gameJoinRestriction: fields },
  });
const control = (method: string, path: string, body?: unknown) => call(simulators.game + path, { method, body });
const minute = () => {
  now += 60_000;
};
const invalid = { status: 400, body: { code: 'INVALID_ARGUMENT' } };
const exhausted = { status: 429, body: { code: 'RESOURCE_EXHAUSTED' } };

test('a user who was never restricted has an inactive restriction', async () => {
  expect(await get(`${base}/7001`)).toMatchObject({
    status: 200,
    body: { path: `${base}/7001`, user: 'users/7001', gameJoinRestriction: { active: false, inherited: false } },
  });
  expect(await get('universes/0/user-restrictions/7001')).toMatchObject(invalid);
});

test('a restriction without a duration is permanent; a start time in the request is ignored', async () => {
  const fields = { active: true, startTime: '2020-01-01T00:00:00Z', displayReason: 'Out', privateReason: 'Case 7' };
  const { status, body } = await patch(`${base}/7001`, fields, 'updateMask=gameJoinRestriction');
  expect(status).toBe(200);
  const stored = { ...fields, startTime: new Date(now).toISOString(), excludeAltAccounts: false, inherited: false };
  expect(body).toMatchObject({ gameJoinRestriction: stored });
  now += 400 * 86_400_000;
  expect((await get(`${base}/7001`)).body).toEqual(body);
});

test('a restriction with a duration ends by itself, and stays in the list', async () => {
  await patch(`${base}/7001`, { active: true, duration: '60s' });
  now += 59_999;
  expect((await get(`${base}/7001`)).body).toMatchObject({ gameJoinRestriction: { active: true, duration: '60s' } });
  now += 1;
  expect((await get(`${base}/7001`)).body).toMatchObject({ gameJoinRestriction: { active: false } });
  expect((await get(base)).body).toMatchObject({ userRestrictions: [{ gameJoinRestriction: { active: false } }] });
});

test('a place shows the restriction of its universe as inherited, unless it has one of its own', async () => {
  const place = 'universes/501/places/601/user-restrictions';
  await patch(`${base}/7001`, { active: true, displayReason: 'Everywhere' });
  expect((await get(`${place}/7001`)).body).toMatchObject({
    path: `${place}/7001`,
    gameJoinRestriction: { active: true, displayReason: 'Everywhere', inherited: true },
  });
  await patch(`${place}/7001`, { active: true, displayReason: 'Here' });
  expect((await get(`${place}/7001`)).body).toMatchObject({
    gameJoinRestriction: { displayReason: 'Here', inherited: false },
  });
  expect((await get('universes/501/places/602/user-restrictions')).body).toMatchObject({ userRestrictions: [] });
  expect((await get(place)).body).toMatchObject({ userRestrictions: [{ user: 'users/7001' }] });
});

test.each([
  {},
  { active: 'yes' },
  { active: true, duration: '0s' },
  { active: true, duration: '1.5s' },
  { active: true, duration: 60 },
  { active: true, duration: '315576000001s' },
  { active: true, displayReason: 'x'.repeat(401) },
  { active: true, displayReason: 'See https://example.test' },
  { active: true, privateReason: 'x'.repeat(1001) },
  { active: true, excludeAltAccounts: 1 },
])('the restriction %j is refused and changes nothing', async (fields) => {
  expect(await patch(`${base}/7001`, fields)).toMatchObject(invalid);
  expect((await get(base)).body).toMatchObject({ userRestrictions: [] });
});

test('a restriction is updated as a whole: a mask that names one of its fields is refused', async () => {
  const refused = await patch(`${base}/7001`, { active: true }, 'updateMask=gameJoinRestriction.active');
  expect(refused).toMatchObject(invalid);
});

test('a user can be changed twice a minute in a universe, and the third change gets 429', async () => {
  await patch(`${base}/7001`, { active: true });
  await patch('universes/501/places/601/user-restrictions/7001', { active: true });
  expect(await patch(`${base}/7001`, { active: false })).toMatchObject(exhausted);
  expect((await patch(`${base}/7002`, { active: true })).status).toBe(200);
  expect((await patch('universes/502/user-restrictions/7001', { active: true })).status).toBe(200);
  minute();
  expect((await patch(`${base}/7001`, { active: false })).status).toBe(200);
});

test('a universe takes 10 writes and 50 reads a second, of all keys together', async () => {
  for (let user = 1; user <= 10; user += 1) await patch(`${base}/${user}`, { active: true });
  const refused = await call(`${simulators.game}/cloud/v2/${base}/11`, {
    method: 'PATCH',
    headers: { 'x-api-key': 'another' },
    body: { gameJoinRestriction: { active: true } },
  });
  expect(refused).toMatchObject(exhausted);
  expect((await patch('universes/502/user-restrictions/11', { active: true })).status).toBe(200);
  for (let read = 0; read < 50; read += 1) await get(`${base}/1`);
  expect(await get(`${base}/1`)).toMatchObject(exhausted);
  now += 1000;
  expect((await get(`${base}/1`)).status).toBe(200);
});

test('a repeated idempotency key returns the first outcome and is not a second change', async () => {
  const query = new URLSearchParams({
    'idempotencyKey.key': 'ban-1',
    'idempotencyKey.firstSent': new Date(now).toISOString(),
  }).toString();
  const first = await patch(`${base}/7001`, { active: true }, query);
  await control('POST', '/__restrictions', { universe: 501, user: 7001, active: false });
  for (let attempt = 0; attempt < 3; attempt += 1)
    expect(await patch(`${base}/7001`, { active: true }, query)).toMatchObject({ status: 200, body: first.body });
  expect((await get(`${base}/7001`)).body).toMatchObject({ gameJoinRestriction: { active: false } });
  expect((await get(`${base}:listLogs`)).body).toMatchObject({ logs: { length: 2 } });
  now += 25 * 3_600_000;
  expect(await patch(`${base}/7001`, { active: true }, query)).toMatchObject(invalid);
  expect(await patch(`${base}/7001`, { active: true }, 'idempotencyKey.firstSent=now')).toMatchObject(invalid);
});

test('logs show who changed what, newest first, and can be filtered by user and place', async () => {
  await patch(`${base}/7001`, { active: true, duration: '60s' });
  await control('POST', '/__restrictions', { universe: 501, place: 601, user: 7001, private_reason: 'Spam' });
  await control('POST', '/__restrictions', { universe: 501, user: 7002, moderator: 7010 });
  expect((await get(`${base}:listLogs`)).body).toMatchObject({
    logs: [
      { user: 'users/7002', place: '', moderator: { robloxUser: 'users/7010' } },
      { user: 'users/7001', place: 'places/601', moderator: { gameServerScript: {} }, privateReason: 'Spam' },
      { user: 'users/7001', place: '', moderator: { robloxUser: expect.anything() }, duration: '60s', active: true },
    ],
    nextPageToken: '',
  });
  const filtered = async (filter: string) => get(`${base}:listLogs?${new URLSearchParams({ filter }).toString()}`);
  expect((await filtered("user == 'users/7001'")).body).toMatchObject({ logs: { length: 2 } });
  const one = await filtered("user == 'users/7001' && place == 'places/601'");
  expect(one.body).toMatchObject({ logs: [{ place: 'places/601' }] });
  expect(await filtered("user == 'places/601'")).toMatchObject(invalid);
});

test('lists have pages of 10, or of up to 100', async () => {
  for (let user = 1; user <= 120; user += 1) await control('POST', '/__restrictions', { universe: 501, user });
  const first = await get(base);
  expect(first.body).toMatchObject({ userRestrictions: { length: 10 } });
  const page = await get(`${base}?maxPageSize=500`);
  expect(page.body).toMatchObject({ userRestrictions: { length: 100 } });
  const { nextPageToken } = page.body as { nextPageToken: string };
  const last = await get(`${base}?maxPageSize=100&pageToken=${nextPageToken}`);
  expect(last.body).toMatchObject({ userRestrictions: { length: 20 }, nextPageToken: '' });
});

test('a restricted player cannot join; other accounts of the person only where they are excluded', async () => {
  const world = structuredClone(simulators.world.data);
  for (const user of world.game.users) if (user.id === 7002) user.alternate_accounts = [7001];
  simulators.world.replace(world);
  const join = async (user: number, place = 601) =>
    (await control('GET', `/__join?universe=501&place=${place}&user=${user}`)).body;
  await patch(`${base}/7001`, { active: true, displayReason: 'Out' });
  expect(await join(7001)).toEqual({ allowed: false, display_reason: 'Out' });
  expect(await join(7002)).toMatchObject({ allowed: false });
  await patch(`${base}/7001`, { active: true, excludeAltAccounts: true });
  expect(await join(7002)).toEqual({ allowed: true, display_reason: null });
  await control('DELETE', '/__restrictions');
  expect(await join(7001)).toMatchObject({ allowed: true });
});

test('a user whom the platform rejects gets 400, and an invalid control call says what is wrong', async () => {
  const world = structuredClone(simulators.world.data);
  for (const user of world.game.users) if (user.id === 7002) user.rejected = true;
  simulators.world.replace(world);
  expect(await patch(`${base}/7002`, { active: true })).toMatchObject(invalid);
  const refused = await control('POST', '/__restrictions', { universe: 'x', user: 1 });
  expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining('universe') } });
});
