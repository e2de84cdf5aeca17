import { afterEach, expect, test } from 'vitest';
import { crewWorld, PlatformsFixture } from '../fixture.ts';

const MEMBERSHIPS = 'GET /cloud/v2/groups/:group/memberships';
const ROLES = 'GET /v1/groups/:group/roles';
const GROUPS_OF_USER = 'GET /v2/users/:user/groups/roles';

let fixture: PlatformsFixture;

const start = async (options: Parameters<typeof PlatformsFixture.start>[0] = {}) => {
  fixture = await PlatformsFixture.start(options);
};
afterEach(() => fixture.stop());

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('all ranks of a user are returned, from several roles in a group and from several groups', async () => {
  await start();
  const ranks = await fixture.robloxWithKey().ranks([7002, 7006, 7004, 1], [501, 502]);
  expect(ranks).toEqual(
    new Map([
      [
        7002,
        new Map([
          [501, [200, 50]],
          [502, [10]],
        ]),
      ],
      [7006, new Map([[502, [100, 10]]])],
      [7004, new Map()],
      [1, new Map()],
    ]),
  );
});

test('only ranks in the given groups are returned, and only roles of these groups are requested', async () => {
  await start();
  const ranks = await fixture.robloxWithKey().ranks([7002], [502, 999]);
  expect(ranks).toEqual(new Map([[7002, new Map([[502, [10]]])]]));
  expect(await fixture.game.calls()).toEqual({ [MEMBERSHIPS]: 1, [ROLES]: 1 });
});

test('fifty users take one call, and one more for every further hundred memberships', async () => {
  await start({ world: crewWorld({ users: 50, groups: 5, ranks: [10, 100] }) });
  const ranks = await fixture.robloxWithKey().ranks(numbers(1, 50), [101, 105]);
  expect(ranks.size).toBe(50);
  for (const of of ranks.values())
    expect(of).toEqual(
      new Map([
        [101, [100, 10]],
        [105, [100, 10]],
      ]),
    );
  expect(await fixture.game.calls()).toEqual({ [MEMBERSHIPS]: 3, [ROLES]: 2 });
});

test('a hundred and one users take three calls', async () => {
  await start({ world: crewWorld({ users: 101 }) });
  const ranks = await fixture.robloxWithKey().ranks(numbers(1, 101), [101]);
  for (const of of ranks.values()) expect(of).toEqual(new Map([[101, [10]]]));
  expect(await fixture.game.calls()).toEqual({ [MEMBERSHIPS]: 3, [ROLES]: 1 });
});

test('the ranks of a user are cached for 30 s', async () => {
  await start({ world: crewWorld({ users: 3, groups: 2 }) });
  const game = fixture.robloxWithKey();
  await game.ranks([1, 2], [101]);
  fixture.clock.advance(29_999);
  await game.ranks([2, 1, 1], [101]);
  expect(await fixture.game.calls()).toEqual({ [MEMBERSHIPS]: 1, [ROLES]: 1 });
  await game.ranks([1, 2], [102]);
  expect(await fixture.game.calls()).toEqual({ [MEMBERSHIPS]: 1, [ROLES]: 2 });
  fixture.clock.advance(1);
  await game.ranks([1, 2, 3], [101]);
  expect(await fixture.game.calls()).toEqual({ [MEMBERSHIPS]: 2, [ROLES]: 2 });
});

test('concurrent lookups share calls, and overlapping ones query no user twice', async () => {
  await start({ world: crewWorld({ users: 60 }) });
  const game = fixture.robloxWithKey();
  const lookups = await Promise.all([
    game.ranks(numbers(1, 50), [101]),
    game.ranks(numbers(1, 50), [101]),
    game.ranks(numbers(11, 60), [101]),
  ]);
  for (const ranks of lookups) {
    expect(ranks.size).toBe(50);
    for (const of of ranks.values()) expect(of).toEqual(new Map([[101, [10]]]));
  }
  expect(await fixture.game.calls()).toEqual({ [MEMBERSHIPS]: 2, [ROLES]: 1 });
});

test('when a page of a batch fails, only the users of that batch are unknown', async () => {
  await start({ world: crewWorld({ users: 60 }) });
  const game = fixture.robloxWithKey();
  await fixture.game.fault('/memberships', { status: 500, times: 1 });
  const ranks = [...(await game.ranks(numbers(1, 60), [101])).values()];
  expect(ranks.filter((of) => of === 'unknown').length).toSatisfy((count: number) => count === 50 || count === 10);
  const retried = [...(await game.ranks(numbers(1, 60), [101])).values()];
  expect(retried).not.toContain('unknown');
  expect(await fixture.game.calls()).toEqual({ [MEMBERSHIPS]: 3, [ROLES]: 1 });
});

test('only members of a group whose roles cannot be loaded are unknown', async () => {
  await start();
  const game = fixture.robloxWithKey();
  await fixture.game.fault('/v1/groups/502/roles', { status: 500 });
  const ranks = await game.ranks([7001, 7006], [501, 502]);
  expect(ranks.get(7006)).toBe('unknown');
  expect(ranks.get(7001)).toEqual(new Map([[501, [50]]]));
});

test('a user with a role that is not among the roles of its group is unknown', async () => {
  await start();
  await fixture.game.fault('/v1/groups/501/roles', { body: { groupId: 501, roles: [] } });
  expect((await fixture.robloxWithKey().ranks([7001], [501])).get(7001)).toBe('unknown');
});

test.each([
  ['another user', { user: 'users/7009', roles: ['groups/501/roles/50101'] }],
  ['no list of roles', { user: 'users/7001', role: 'groups/501/roles/50101' }],
  ['a role without a group', { user: 'users/7001', roles: ['roles/50101'] }],
])('a membership with %s makes the ranks unknown', async (_what, membership) => {
  await start();
  await fixture.game.fault('/memberships', { body: { groupMemberships: [membership], nextPageToken: '' } });
  expect((await fixture.robloxWithKey().ranks([7001], [501])).get(7001)).toBe('unknown');
});

test('above a rate limit of the key, only calls of that limit pause, for the remaining seconds', async () => {
  await start({ limits: { 'cloud-memberships': { count: 1, seconds: 60 } }, clock: () => fixture.clock.now() });
  const game = fixture.robloxWithKey();
  expect((await game.ranks([7001], [501])).get(7001)).toEqual(new Map([[501, [50]]]));
  fixture.clock.advance(30_000);
  expect((await game.ranks([7001], [501])).get(7001)).toBe('unknown');
  expect((await game.ranks([7001], [501])).get(7001)).toBe('unknown');
  expect(await fixture.game.calls()).toEqual({ [MEMBERSHIPS]: 2, [ROLES]: 1 });
  expect(await game.owns(7001, [{ kind: 'badge', id: 801 }])).toEqual([true]);
  fixture.clock.advance(30_000);
  expect((await game.ranks([7001], [501])).get(7001)).toEqual(new Map([[501, [50]]]));
});

test('with an invalid key all ranks are unknown', async () => {
  await start();
  await fixture.game.fault('/cloud/v2', { status: 401, body: { errors: [{ code: 0, message: 'Invalid API Key' }] } });
  expect((await fixture.robloxWithKey().ranks([7001], [501])).get(7001)).toBe('unknown');
});

test('without a key each user takes a call, and has only the highest rank in each group', async () => {
  await start();
  const game = fixture.roblox();
  const query = () => game.ranks([7002, 7004, 1, 7002], [501, 502]);
  const [ranks] = await Promise.all([query(), query()]);
  expect(ranks).toEqual(
    new Map([
      [
        7002,
        new Map([
          [501, [200]],
          [502, [10]],
        ]),
      ],
      [7004, new Map()],
      [1, new Map()],
    ]),
  );
  fixture.clock.advance(29_999);
  await query();
  expect(await fixture.game.calls()).toEqual({ [GROUPS_OF_USER]: 3 });
});

test('without a key a failed call leaves only its own user unknown', async () => {
  await start();
  await fixture.game.fault('/v2/users/7002/', { status: 500 });
  const ranks = await fixture.roblox().ranks([7001, 7002], [501]);
  expect(ranks).toEqual(
    new Map<number, unknown>([
      [7001, new Map([[501, [50]]])],
      [7002, 'unknown'],
    ]),
  );
});

test('an empty list of users takes no call', async () => {
  await start();
  expect(await fixture.robloxWithKey().ranks([], [501])).toEqual(new Map());
  expect(await fixture.game.calls()).toEqual({});
});

test('one rejected account leaves the ranks of its batch known, and is not queried again soon', async () => {
  const world = crewWorld({ users: 50 });
  Object.assign(world.game.users[30] as object, { rejected: true });
  await start({ world });
  const game = fixture.robloxWithKey();
  const ranks = await game.ranks(numbers(1, 50), [101]);
  expect(ranks.get(31)).toBe('rejected');
  expect([...ranks].filter(([, held]) => held instanceof Map)).toHaveLength(49);
  const first = (await fixture.game.calls())[MEMBERSHIPS] ?? 0;
  expect(first).toBeLessThanOrEqual(13);
  fixture.clock.advance(30_000);
  await game.ranks(numbers(1, 50), [101]);
  expect((await fixture.game.calls())[MEMBERSHIPS]).toBe(first + 1);
});

test('without a key a rejected account is rejected, not unknown', async () => {
  const world = crewWorld({ users: 2 });
  Object.assign(world.game.users[0] as object, { rejected: true });
  await start({ world });
  const ranks = await fixture.roblox().ranks([1, 2], [101]);
  expect(ranks).toEqual(
    new Map<number, unknown>([
      [1, 'rejected'],
      [2, new Map([[101, [10]]])],
    ]),
  );
});
