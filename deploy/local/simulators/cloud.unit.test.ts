import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';

let simulators: Simulators;
let now = 1_700_000_000_000;

beforeEach(async () => {
  simulators = await startSimulators({ clock: () => now, limits: { 'cloud-user': { count: 2, seconds: 60 } } });
});
afterEach(() => simulators.stop());

const headers = { 'x-api-key': 'key' };
const get = (path: string, query: Record<string, string> = {}) =>
  call(`${simulators.game}/cloud/v2/${path}?${new URLSearchParams(query).toString()}`, { headers });
const invalid = { status: 400, body: { code: 'INVALID_ARGUMENT' } };

const userList = (count: number) => Array.from({ length: count }, (_, index) => `'users/${index + 1}'`).join(', ');

/** A group of 130 users with 25 roles, where each user holds the first role and one more. */
function crowd() {
  const roles = Array.from({ length: 25 }, (_, index) => ({ id: 100 + index, name: `Role ${index}`, rank: index + 1 }));
  const users = Array.from({ length: 130 }, (_, index) => ({
    id: index + 1,
    name: `User${index + 1}`,
    groups: [{ group_id: 1, ranks: [1, 2 + (index % 24)] }],
    badges: Array.from({ length: 30 }, (_, badge) => badge + 1),
  }));
  const badges = Array.from({ length: 30 }, (_, index) => ({ id: index + 1, name: `Badge ${index + 1}` }));
  simulators.world.replace({ chat: {}, game: { users, groups: [{ id: 1, name: 'Crowd', roles }], badges } });
}

test('users and groups have strings as IDs and paths as references', async () => {
  const user = await get('users/7001');
  expect(user.body).toMatchObject({ path: 'users/7001', id: '7001', createTime: '2019-03-01T00:00:00Z' });
  expect(user.body).not.toHaveProperty('isBanned');
  const group = await get('groups/501');
  expect(group.body).toMatchObject({ id: '501', displayName: 'Harbor Crew', owner: 'users/7010', memberCount: 7 });
  expect(await get('groups/999')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
});

test('a request without a key gets an error in the format of the platform’s gateway', async () => {
  const refused = await call(`${simulators.game}/cloud/v2/users/7001`);
  expect(refused).toMatchObject({ status: 401, body: { errors: [{ code: 0, message: 'Invalid API Key' }] } });
});

test('roles come 10 at a time, never more than 20, and the last page has an empty token', async () => {
  crowd();
  expect((await get('groups/1/roles')).body).toMatchObject({ groupRoles: { length: 10 } });
  const first = await get('groups/1/roles', { maxPageSize: '100' });
  expect(first.body).toMatchObject({ groupRoles: { length: 20, 0: { id: '100', rank: 1, memberCount: 130 } } });
  const { nextPageToken } = first.body as { nextPageToken: string };
  const second = await get('groups/1/roles', { pageToken: nextPageToken });
  expect(second.body).toMatchObject({ groupRoles: { length: 5 }, nextPageToken: '' });
});

test('memberships come 10 at a time, never more than 100, and the token leads to the rest', async () => {
  crowd();
  expect((await get('groups/1/memberships')).body).toMatchObject({ groupMemberships: { length: 10 } });
  const first = await get('groups/1/memberships', { maxPageSize: '1000' });
  expect(first.body).toMatchObject({ groupMemberships: { length: 100, 99: { user: 'users/100' } } });
  const { nextPageToken } = first.body as { nextPageToken: string };
  const second = await get('groups/1/memberships', { maxPageSize: '100', pageToken: nextPageToken });
  expect(second.body).toMatchObject({ groupMemberships: { length: 30, 0: { user: 'users/101' } }, nextPageToken: '' });
});

test('a page token with another filter or path, a faulty one and a faulty size are refused', async () => {
  crowd();
  const filter = "role == 'groups/1/roles/100'";
  const { body } = await get('groups/1/memberships', { filter });
  const { nextPageToken: pageToken } = body as { nextPageToken: string };
  expect(await get('groups/1/memberships', { filter, pageToken })).toMatchObject({ status: 200 });
  expect(await get('groups/1/memberships', { pageToken })).toMatchObject(invalid);
  expect(await get('groups/1/roles', { filter, pageToken })).toMatchObject(invalid);
  expect(await get('groups/1/memberships', { pageToken: 'x' })).toMatchObject(invalid);
  expect(await get('groups/1/memberships', { maxPageSize: '-1' })).toMatchObject(invalid);
});

test('a membership lists all roles, and the highest one in a field of its own', async () => {
  const { body } = await get('groups/501/memberships', { filter: "user == 'users/7002'" });
  expect(body).toMatchObject({
    groupMemberships: [
      {
        user: 'users/7002',
        role: 'groups/501/roles/50103',
        roles: ['groups/501/roles/50103', 'groups/501/roles/50101'],
      },
    ],
  });
  const deckhands = await get('groups/501/memberships', { filter: "role == 'groups/501/roles/50101'" });
  const { groupMemberships } = deckhands.body as { groupMemberships: { user: string }[] };
  expect(groupMemberships.map((membership) => membership.user)).toEqual(['users/7001', 'users/7002', 'users/7003']);
});

test('one call returns the memberships of up to 50 users in all groups; unknown users are left out', async () => {
  const { body } = await get('groups/-/memberships', { filter: "user in ['users/7002', 'users/7004', 'users/9999']" });
  const { groupMemberships } = body as { groupMemberships: { path: string }[] };
  expect(groupMemberships.map(({ path }) => path.split('/')[1])).toEqual(['501', '502']);
  crowd();
  const most = await get('groups/-/memberships', { filter: `user in [${userList(50)}]`, maxPageSize: '100' });
  expect(most.body).toMatchObject({ groupMemberships: { length: 50 } });
  expect(await get('groups/-/memberships', { filter: `user in [${userList(51)}]` })).toMatchObject(invalid);
});

test('a filter is accepted only where the platform documents it', async () => {
  const one = "user == 'users/7002'";
  const list = "user in ['users/7002']";
  for (const filter of ['', one, 'user in []', "user in ['7002']"])
    expect(await get('groups/-/memberships', { filter })).toMatchObject(invalid);
  for (const filter of [list, "rank == '50'", "user == '7002'", "role == 'groups/502/roles/50200'"])
    expect(await get('groups/501/memberships', { filter })).toMatchObject(invalid);
});

test('one call returns which of the named items a user owns, with a time for all but game passes', async () => {
  const filter = 'gamePassIds=601,602;badgeIds=801,802;assetIds=701,702';
  const { body } = await get('users/7001/inventory-items', { filter });
  expect(body).toMatchObject({
    inventoryItems: [
      { assetDetails: { assetId: '701' }, addTime: '2019-03-01T00:00:00Z' },
      { badgeDetails: { badgeId: '801' }, addTime: '2019-03-01T00:00:00Z' },
      { gamePassDetails: { gamePassId: '601' } },
    ],
    nextPageToken: '',
  });
  expect((body as { inventoryItems: object[] }).inventoryItems[2]).not.toHaveProperty('addTime');
});

test('a page has 10 inventory items unless more are requested', async () => {
  crowd();
  const filter = `badgeIds=${Array.from({ length: 30 }, (_, index) => index + 1).join()}`;
  const first = await get('users/1/inventory-items', { filter });
  expect(first.body).toMatchObject({ inventoryItems: { length: 10 }, nextPageToken: expect.stringMatching(/./) });
  const all = await get('users/1/inventory-items', { filter, maxPageSize: '100' });
  expect(all.body).toMatchObject({ inventoryItems: { length: 30 }, nextPageToken: '' });
});

test('items can be filtered by type, but not by type and ID together', async () => {
  const passes = await get('users/7002/inventory-items', { filter: 'gamePasses=true;badges=false' });
  expect(passes.body).toMatchObject({ inventoryItems: [{ gamePassDetails: {} }, { gamePassDetails: {} }] });
  expect((await get('users/7002/inventory-items')).body).toMatchObject({ inventoryItems: { length: 6 } });
  for (const filter of ['gamePasses=true;badgeIds=801', 'passIds=601', 'badgeIds=a', 'badgeIds', 'constructor=1'])
    expect(await get('users/7002/inventory-items', { filter })).toMatchObject(invalid);
});

test('a private inventory is refused, which is not the same as an empty one', async () => {
  const hidden = await get('users/7003/inventory-items', { filter: 'badgeIds=801' });
  expect(hidden).toMatchObject({ status: 403, body: { code: 'PERMISSION_DENIED' } });
  const empty = await get('users/7004/inventory-items', { filter: 'badgeIds=801' });
  expect(empty).toMatchObject({ status: 200, body: { inventoryItems: [] } });
});

test('headers show the limit and the seconds until its reset; above it a call gets 429 without Retry-After', async () => {
  await get('users/7001');
  now += 20_500;
  const second = await get('users/7001');
  expect(Object.fromEntries(second.headers)).toMatchObject({
    'x-ratelimit-limit': '2, 2;w=60',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '40',
  });
  const third = await get('users/7001');
  expect(third).toMatchObject({ status: 429, body: { code: 'RESOURCE_EXHAUSTED' } });
  expect(third.headers.get('x-ratelimit-reset')).toBe('40');
  expect(third.headers.get('retry-after')).toBeNull();
  expect((await get('groups/501')).status).toBe(200);
  now += 39_500;
  expect((await get('users/7001')).status).toBe(200);
});

test('the limits are those that the platform documents for each owner of a key', async () => {
  const plain = await startSimulators();
  const limits = { 'users/7001': 1000, 'groups/501': 150, 'groups/501/roles': 300, 'groups/501/memberships': 300 };
  for (const [path, limit] of Object.entries({ ...limits, 'users/7001/inventory-items': 100 })) {
    const reply = await call(`${plain.game}/cloud/v2/${path}`, { headers });
    expect(reply.headers.get('x-ratelimit-limit')).toBe(`${limit}, ${limit};w=60`);
  }
  await plain.stop();
});
