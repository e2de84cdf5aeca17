import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { PlatformsFixture } from '../fixture.ts';

let fixture: PlatformsFixture;

beforeAll(async () => {
  fixture = await PlatformsFixture.start();
});
afterEach(() => fixture.game.forget());
afterAll(() => fixture.stop());

const CALLS_OF_ONE_GROUP = { 'GET /v1/groups/:group': 1, 'GET /v1/groups/:group/roles': 1 };

test('a group has its name, and its roles with the lowest rank first', async () => {
  const roles = [
    { name: 'Mason', rank: 10 },
    { name: 'Keeper', rank: 100 },
    { name: 'Founder', rank: 255 },
  ];
  expect(await fixture.roblox().group(502)).toEqual({ id: 502, name: 'Lighthouse Builders', roles });
});

test('an unknown group is null', async () => {
  expect(await fixture.roblox().group(1)).toBeNull();
});

test.each([501, 1])('group %i is requested once a minute, also by concurrent callers', async (id) => {
  const game = fixture.roblox();
  await Promise.all(Array.from({ length: 10 }, () => game.group(id)));
  fixture.clock.advance(59_999);
  await game.group(id);
  expect(await fixture.game.calls()).toEqual(CALLS_OF_ONE_GROUP);
  fixture.clock.advance(1);
  await game.group(id);
  expect(await fixture.game.calls()).toEqual({ 'GET /v1/groups/:group': 2, 'GET /v1/groups/:group/roles': 2 });
});

test('a response about another group is a PLATFORM_ERROR', async () => {
  await fixture.game.fault('/v1/groups/501/roles', { body: { groupId: 502, roles: [] } });
  await expect(fixture.roblox().group(501)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

const ITEMS = [
  ['gamepass', 602, 'Fast Boat', 'GET /game-passes/v1/game-passes/:item/product-info'],
  ['asset', 702, 'Oilskin Coat', 'GET /v2/assets/:item/details'],
  ['badge', 802, 'Round the Cape', 'GET /v1/badges/:item'],
] as const;

test.each(ITEMS)(
  'the name of a %s is requested once an hour, also by concurrent callers',
  async (kind, id, name, route) => {
    const game = fixture.robloxWithKey();
    const names = await Promise.all(Array.from({ length: 10 }, () => game.itemName({ kind, id })));
    expect(new Set(names)).toEqual(new Set([name]));
    fixture.clock.advance(3_599_999);
    await game.itemName({ kind, id });
    expect(await fixture.game.calls()).toEqual({ [route]: 1 });
    fixture.clock.advance(1);
    await game.itemName({ kind, id });
    expect(await fixture.game.calls()).toEqual({ [route]: 2 });
  },
);

test.each(ITEMS)('an unknown %s is null', async (kind) => {
  expect(await fixture.roblox().itemName({ kind, id: 1 })).toBeNull();
});

test.each([
  ['gamepass', 400, 0, 'BadRequest'],
  ['gamepass', 404, 0, 'NotFound'],
  ['asset', 400, 0, 'BadRequest'],
  ['asset', 404, 20, 'NotFound'],
  ['badge', 404, 0, 'NotFound'],
  ['badge', 400, 1, 'BadRequest'],
] as const)(
  'a %s does not count as unknown when the gateway responds with %i and code %i',
  async (kind, status, code, message) => {
    await fixture.game.fault('', { status, body: { errors: [{ code, message }] } });
    await expect(fixture.roblox().itemName({ kind, id: 1 })).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  },
);

test.each(ITEMS)('a %s does not count as unknown when the response is HTML', async (kind) => {
  const url = await fixture.serve((_path, response) => {
    response.writeHead(404, { 'content-type': 'text/html' }).end('<html>Not found</html>');
  });
  const game = fixture.roblox({ GAME_APIS_URL: url, GAME_ECONOMY_URL: url, GAME_BADGES_URL: url });
  await expect(game.itemName({ kind, id: 1 })).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test('a response about another item is a PLATFORM_ERROR', async () => {
  await fixture.game.fault('/v1/badges/801', { body: { id: 802, name: 'Round the Cape' } });
  await expect(fixture.roblox().itemName({ kind: 'badge', id: 801 })).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test('the creation time of an account is requested once an hour, together with its name', async () => {
  const game = fixture.roblox();
  expect(await game.createdAt(7002)).toEqual(new Date('2018-07-19T14:02:11Z'));
  expect(await game.user(7002)).toEqual({ id: 7002, name: 'BrunoSails' });
  expect(await fixture.game.calls()).toEqual({ 'GET /v1/users/:user': 1 });
});

test('the creation time is hidden for an unknown account, and where the platform sends no valid time', async () => {
  expect(await fixture.roblox().createdAt(1)).toBe('hidden');
  await fixture.game.fault('/v1/users', { body: { id: 7001, name: 'AdaBuilds', created: 'long ago' } });
  const game = fixture.roblox();
  expect(await game.createdAt(7001)).toBe('hidden');
  expect(await game.user(7001)).toEqual({ id: 7001, name: 'AdaBuilds' });
});
