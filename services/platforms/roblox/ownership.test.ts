import { afterEach, expect, test } from 'vitest';
import { withPurpose } from '#kit/context.ts';
import { PlatformsFixture } from '../fixture.ts';
import type { GameItem } from '../game.ts';

const INVENTORY = 'GET /cloud/v2/users/:user/inventory-items';
const CAN_VIEW = 'GET /v1/users/:user/can-view-inventory';
const IS_OWNED = 'GET /v1/users/:user/items/:type/:item/is-owned';

const ITEMS: GameItem[] = [
  { kind: 'gamepass', id: 601 },
  { kind: 'gamepass', id: 602 },
  { kind: 'asset', id: 701 },
  { kind: 'asset', id: 702 },
  { kind: 'badge', id: 801 },
  { kind: 'badge', id: 802 },
];
const OWNED_BY_ADA = [true, false, true, false, true, false];

let fixture: PlatformsFixture;

const start = async (options: Parameters<typeof PlatformsFixture.start>[0] = {}) => {
  fixture = await PlatformsFixture.start(options);
};
afterEach(() => fixture.stop());

test('all items of a user take one call', async () => {
  await start();
  expect(await fixture.robloxWithKey().owns(7001, ITEMS)).toEqual(OWNED_BY_ADA);
  expect(await fixture.game.calls()).toEqual({ [INVENTORY]: 1 });
});

test('callers get no cached results; background work caches for a minute, jobs for ten', async () => {
  await start();
  const game = fixture.robloxWithKey();
  const calls = async () => (await fixture.game.calls())[INVENTORY];
  const asJob = () => withPurpose('job', () => game.owns(7001, ITEMS));
  const inBackground = () => withPurpose('background', () => game.owns(7001, ITEMS));
  await game.owns(7001, ITEMS);
  await game.owns(7001, ITEMS);
  expect(await calls()).toBe(2);
  expect(await asJob()).toEqual(OWNED_BY_ADA);
  expect(await inBackground()).toEqual(OWNED_BY_ADA);
  expect(await calls()).toBe(2);
  fixture.clock.advance(60_000);
  await asJob();
  expect(await calls()).toBe(2);
  await inBackground();
  expect(await calls()).toBe(3);
  fixture.clock.advance(600_000);
  await asJob();
  expect(await calls()).toBe(4);
});

test('callers that accept old results get those of up to that age, of any purpose', async () => {
  await start();
  const game = fixture.robloxWithKey();
  const calls = async () => (await fixture.game.calls())[INVENTORY];
  await withPurpose('job', () => game.owns(7001, ITEMS));
  fixture.clock.advance(59_999);
  expect(await game.owns(7001, ITEMS, { maxAgeMs: 60_000 })).toEqual(OWNED_BY_ADA);
  expect(await calls()).toBe(1);
  fixture.clock.advance(1);
  await game.owns(7001, ITEMS, { maxAgeMs: 60_000 });
  expect(await calls()).toBe(2);
});

test('fifty users take one call each', async () => {
  const users = Array.from({ length: 50 }, (_, index) => ({ id: index + 1, name: `U${index + 1}`, badges: [801] }));
  await start({ world: { game: { users, badges: [{ id: 801, name: 'First Voyage' }] } } });
  const game = fixture.robloxWithKey();
  const owned = await Promise.all(users.map(({ id }) => game.owns(id, [{ kind: 'badge', id: 801 }])));
  expect(owned.flat()).toEqual(users.map(() => true));
  expect(await fixture.game.calls()).toEqual({ [INVENTORY]: 50 });
});

test('a hundred items fit on one page, instead of the default of ten per page', async () => {
  const badges = Array.from({ length: 100 }, (_, index) => ({ id: index + 1, name: `Badge ${index + 1}` }));
  const ids = badges.map(({ id }) => id);
  await start({ world: { game: { users: [{ id: 7, name: 'Ada', badges: ids }], badges } } });
  const items = ids.map((id) => ({ kind: 'badge', id }) as const);
  expect(await fixture.robloxWithKey().owns(7, items)).toEqual(ids.map(() => true));
  expect(await fixture.game.calls()).toEqual({ [INVENTORY]: 1 });
});

test('further pages are read until all items are found, because an asset can be owned several times', async () => {
  await start();
  const copy = { assetDetails: { assetId: '701' } };
  const pages: Record<string, unknown> = {
    '': { inventoryItems: Array.from({ length: 100 }, () => copy), nextPageToken: 'two' },
    two: { inventoryItems: [{ assetDetails: { assetId: '702' } }], nextPageToken: 'three' },
    three: { inventoryItems: [copy] },
  };
  const tokens: string[] = [];
  const url = await fixture.serve((path, response) => {
    const token = new URL(path, 'http://localhost').searchParams.get('pageToken') ?? '';
    tokens.push(token);
    response.end(JSON.stringify(pages[token]));
  });
  const game = fixture.robloxWithKey({ GAME_APIS_URL: url });
  const asset = (id: number) => ({ kind: 'asset', id }) as const;
  expect(await game.owns(7001, [asset(701), asset(702)])).toEqual([true, true]);
  expect(tokens.splice(0)).toEqual(['', 'two']);
  expect(await game.owns(7001, [asset(701), asset(702), asset(703)])).toEqual([true, true, false]);
  expect(tokens).toEqual(['', 'two', 'three']);
});

test('with endless pages, items that were not found are unknown', async () => {
  await start();
  let count = 0;
  const url = await fixture.serve((_path, response) => {
    count += 1;
    response.end(JSON.stringify({ inventoryItems: [], nextPageToken: `page ${count}` }));
  });
  expect(await fixture.robloxWithKey({ GAME_APIS_URL: url }).owns(7001, ITEMS.slice(0, 1))).toEqual(['unknown']);
  expect(count).toBe(100);
});

test.each([true, false])('a private inventory is hidden (with a key: %s)', async (withKey) => {
  await start();
  const game = withKey ? fixture.robloxWithKey() : fixture.roblox();
  expect(await game.owns(7003, ITEMS)).toEqual(ITEMS.map(() => 'hidden'));
  expect(await fixture.game.calls()).toEqual({ [withKey ? INVENTORY : CAN_VIEW]: 1 });
});

test.each([
  [true, 'hidden'],
  [false, 'unknown'],
])('items of a user who does not exist (with a key: %s) are %s', async (withKey, expected) => {
  await start();
  const game = withKey ? fixture.robloxWithKey() : fixture.roblox();
  expect(await game.owns(1, ITEMS.slice(0, 2))).toEqual([expected, expected]);
});

test.each([true, false])('an item that does not exist is not owned (with a key: %s)', async (withKey) => {
  await start();
  const game = withKey ? fixture.robloxWithKey() : fixture.roblox();
  const missing = (['gamepass', 'asset', 'badge'] as const).map((kind) => ({ kind, id: 1 }));
  expect(await game.owns(7001, missing)).toEqual([false, false, false]);
});

test('concurrent equal lookups share one call, and a later lookup makes another', async () => {
  await start();
  const game = fixture.robloxWithKey();
  const backwards = ITEMS.toReversed();
  const [first, second] = await Promise.all([game.owns(7001, ITEMS), game.owns(7001, backwards)]);
  expect(first).toEqual(OWNED_BY_ADA);
  expect(second).toEqual(OWNED_BY_ADA.toReversed());
  expect(await fixture.game.calls()).toEqual({ [INVENTORY]: 1 });
  await game.owns(7001, ITEMS);
  expect(await fixture.game.calls()).toEqual({ [INVENTORY]: 2 });
});

test('an item that is given twice has two results, and no items take no call', async () => {
  await start();
  const game = fixture.robloxWithKey();
  const badge = { kind: 'badge', id: 801 } as const;
  expect(await game.owns(7001, [badge, badge])).toEqual([true, true]);
  expect(await game.owns(7001, [])).toEqual([]);
  expect(await fixture.game.calls()).toEqual({ [INVENTORY]: 1 });
});

test('without a key each item takes a call, after one that checks whether the inventory is private', async () => {
  await start();
  expect(await fixture.roblox().owns(7001, ITEMS)).toEqual(OWNED_BY_ADA);
  expect(await fixture.game.calls()).toEqual({ [CAN_VIEW]: 1, [IS_OWNED]: 6 });
});

test('without a key a failed call leaves only its own item unknown', async () => {
  await start();
  await fixture.game.fault('/items/Asset/701/', { status: 500 });
  expect(await fixture.roblox().owns(7001, ITEMS)).toEqual(OWNED_BY_ADA.with(2, 'unknown' as never));
});
