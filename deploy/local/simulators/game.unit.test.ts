import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';

let simulators: Simulators;

beforeAll(async () => {
  simulators = await startSimulators();
});
afterAll(() => simulators.stop());

const get = (path: string) => call(simulators.game + path);
const post = (path: string, body: unknown) => call(simulators.game + path, { method: 'POST', body });
const refusal = (status: number, code: number) => ({
  status,
  body: { errors: [{ code, message: expect.any(String) }] },
});

test('a group and its roles have numbers as IDs and count their members', async () => {
  expect((await get('/v1/groups/501')).body).toMatchObject({
    id: 501,
    name: 'Harbor Crew',
    owner: { userId: 7010, username: 'JonasJetty' },
    shout: null,
    memberCount: 7,
  });
  const { body } = await get('/v1/groups/501/roles');
  expect(body).toMatchObject({ groupId: 501, roles: { length: 5, 1: { id: 50101, rank: 50, memberCount: 3 } } });
});

test('a group that does not exist is 400, not 404', async () => {
  for (const path of ['/v1/groups/999', '/v1/groups/x', '/v1/groups/999/roles', '/v1/groups/999/users'])
    expect(await get(path)).toMatchObject(refusal(400, 1));
});

test('for a user with several roles in a group the older host returns only the highest', async () => {
  const { body } = await get('/v2/users/7002/groups/roles');
  expect(body).toMatchObject({
    data: [
      { group: { id: 501, name: 'Harbor Crew', memberCount: 7 }, role: { id: 50103, name: 'Captain', rank: 200 } },
      { group: { id: 502 }, role: { rank: 10 } },
    ],
  });
  expect((await get('/v2/users/7004/groups/roles')).body).toEqual({ data: [] });
  expect(await get('/v2/users/9999/groups/roles')).toMatchObject(refusal(400, 3));
});

test('the members of a group come by cursor, in pages of four sizes, unless they are hidden', async () => {
  const members = Array.from({ length: 12 }, (_, index) => ({
    id: index + 1,
    name: `User${index + 1}`,
    groups: [{ group_id: 1, ranks: [1] }],
  }));
  const groups = [{ id: 1, name: 'Crowd', roles: [{ id: 11, name: 'Member', rank: 1 }] }];
  const other = await startSimulators();
  other.world.replace({ chat: {}, game: { users: members, groups } });
  const first = await call(`${other.game}/v1/groups/1/users`);
  expect(first.body).toMatchObject({ previousPageCursor: null, data: { length: 10, 0: { user: { userId: 1 } } } });
  const { nextPageCursor } = first.body as { nextPageCursor: string };
  const second = await call(`${other.game}/v1/groups/1/users?cursor=${nextPageCursor}`);
  expect(second.body).toMatchObject({ nextPageCursor: null, data: { length: 2, 1: { user: { userId: 12 } } } });
  const last = await call(`${other.game}/v1/groups/1/users?sortOrder=Desc&limit=25`);
  expect(last.body).toMatchObject({ data: { length: 12, 0: { user: { userId: 12 }, role: { rank: 1 } } } });
  expect(await call(`${other.game}/v1/groups/1/users?limit=20`)).toMatchObject(refusal(400, 0));
  expect(await call(`${other.game}/v1/groups/1/users?cursor=x`)).toMatchObject(refusal(400, 36));
  await other.stop();
  expect(await get('/v1/groups/502/users')).toMatchObject(refusal(403, 35));
});

test('a user has the creation time of the account, and whether it is banned', async () => {
  const { body } = await get('/v1/users/7001');
  expect(body).toMatchObject({ id: 7001, name: 'AdaBuilds', displayName: 'Ada', created: '2019-03-01T00:00:00Z' });
  expect((await get('/v1/users/7009')).body).toMatchObject({ isBanned: true });
  expect(await get('/v1/users/9999')).toMatchObject(refusal(404, 3));
});

test('one call returns up to 100 users, without unknown ones, and without banned ones on request', async () => {
  const { body } = await post('/v1/users', { userIds: [7009, 9999, 7001, 7001], excludeBannedUsers: false });
  expect(body).toMatchObject({ data: [{ id: 7009 }, { id: 7001, hasVerifiedBadge: false }] });
  const without = await post('/v1/users', { userIds: [7009, 7001], excludeBannedUsers: true });
  expect(without.body).toMatchObject({ data: [{ id: 7001 }] });
  const many = Array.from({ length: 101 }, (_, index) => index + 1);
  expect(await post('/v1/users', { userIds: many })).toMatchObject(refusal(400, 1));
  expect(await post('/v1/usernames/users', { usernames: many.map(String) })).toMatchObject(refusal(400, 2));
});

test('a user is found by a current or previous name in any case, and the response has the requested name', async () => {
  const { body } = await post('/v1/usernames/users', { usernames: ['adabuilds', 'AdaDigs', 'nobody'] });
  expect(body).toMatchObject({
    data: [
      { requestedUsername: 'adabuilds', id: 7001, name: 'AdaBuilds' },
      { requestedUsername: 'AdaDigs', id: 7001, name: 'AdaBuilds' },
    ],
  });
});

test('ownership is a bare true or false, its type a name or a number', async () => {
  const owned: [string, boolean][] = [
    ['7001/items/GamePass/601', true],
    ['7001/items/1/602', false],
    ['7001/items/Asset/701', true],
    ['7001/items/0/702', false],
    ['7001/items/badge/801', true],
    ['7001/items/2/802', false],
  ];
  for (const [path, expected] of owned) expect((await get(`/v1/users/${path}/is-owned`)).body).toBe(expected);
});

test('an ownership check that is impossible gets 400, with a different code for each reason', async () => {
  const refused: [string, number][] = [
    ['9999/items/GamePass/601', 1],
    ['7001/items/GamePass/999', 5],
    ['7001/items/Hat/701', 6],
    ['7001/items/Asset/999', 7],
    ['7001/items/Badge/701', 10],
    ['7001/items/Bundle/1', 12],
  ];
  for (const [path, code] of refused) expect(await get(`/v1/users/${path}/is-owned`)).toMatchObject(refusal(400, code));
});

test('a private inventory looks empty: only can-view-inventory shows the difference', async () => {
  expect((await get('/v1/users/7003/items/Badge/801/is-owned')).body).toBe(false);
  expect((await get('/v1/users/7003/can-view-inventory')).body).toEqual({ canView: false });
  expect((await get('/v1/users/7001/can-view-inventory')).body).toEqual({ canView: true });
  expect(await get('/v1/users/9999/can-view-inventory')).toMatchObject(refusal(400, 1));
});

test('badges, when they were awarded, game passes and assets are shown; unknown ones are refused', async () => {
  expect((await get('/v1/badges/801')).body).toMatchObject({ id: 801, name: 'First Voyage', enabled: true });
  const dates = await get('/v1/users/7001/badges/awarded-dates?badgeIds=801,802');
  expect(dates.body).toEqual({ data: [{ badgeId: 801, awardedDate: '2019-03-01T00:00:00Z' }] });
  const pass = await get('/game-passes/v1/game-passes/601/product-info');
  expect(pass.body).toMatchObject({ TargetId: 601, ProductType: 'Game Pass', Name: "Captain's Pass" });
  expect((await get('/v2/assets/701/details')).body).toMatchObject({ AssetId: 701, Name: 'Anchor Hat' });
  expect(await get('/v1/badges/999')).toMatchObject(refusal(404, 1));
  expect(await get('/v1/users/9999/badges/awarded-dates?badgeIds=801')).toMatchObject(refusal(404, 4));
  const many = Array.from({ length: 101 }, (_, index) => index + 1).join();
  expect(await get(`/v1/users/7001/badges/awarded-dates?badgeIds=${many}`)).toMatchObject(refusal(400, 5));
  expect(await get('/game-passes/v1/game-passes/999/product-info')).toMatchObject(refusal(404, 0));
  expect(await get('/v2/assets/999/details')).toMatchObject(refusal(400, 20));
});

test('unknown paths and methods get errors in the platform’s format; older hosts send no rate limit headers', async () => {
  expect(await get('/v1/nothing')).toMatchObject(refusal(404, 0));
  expect(await call(`${simulators.game}/v1/groups/501`, { method: 'DELETE' })).toMatchObject(refusal(405, 0));
  expect((await get('/v1/groups/501')).headers.get('x-ratelimit-limit')).toBeNull();
});

test('the control changes the ranks of a user in a group, and counts follow', async () => {
  const change = (ranks: number[]) =>
    call(`${simulators.game}/__ranks`, { method: 'POST', body: { group: 501, user: 7001, ranks } });
  const role = async () => (await get('/v2/users/7001/groups/roles')).body;
  expect((await change([200, 50])).status).toBe(204);
  expect(await role()).toMatchObject({ data: [{ group: { id: 501 }, role: { rank: 200 } }] });
  expect((await change([])).status).toBe(204);
  expect(await role()).toEqual({ data: [] });
  expect((await change([77])).status).toBe(400);
  expect((await get('/v1/groups/501')).body).toMatchObject({ memberCount: 6 });
  await change([50]);
  expect((await get('/v1/groups/501')).body).toMatchObject({ memberCount: 7 });
});
