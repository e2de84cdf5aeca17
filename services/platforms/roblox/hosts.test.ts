import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { deadlineFor, PlatformsFixture } from '../fixture.ts';
import type { GamePlatform } from '../game.ts';

let fixture: PlatformsFixture;

beforeAll(async () => {
  fixture = await PlatformsFixture.start();
});
afterEach(() => {
  fixture.deadlineMs = deadlineFor({});
  return fixture.game.forget();
});
afterAll(() => fixture.stop());

const GATEWAY_404 = { status: 404, body: { errors: [{ code: 0, message: 'NotFound' }] } };
const FAULTS: [string, Record<string, unknown>, string][] = [
  ['responds with 500', { status: 500 }, 'PLATFORM_ERROR'],
  ['responds with 503', { status: 503 }, 'PLATFORM_ERROR'],
  ['responds with 403', { status: 403 }, 'PLATFORM_ERROR'],
  ['has lost the route', GATEWAY_404, 'PLATFORM_ERROR'],
  ['resets the connection', { reset: true }, 'PLATFORM_ERROR'],
  ['sends invalid JSON', { broken: true }, 'PLATFORM_ERROR'],
  ['truncates the response', { truncate: true }, 'PLATFORM_ERROR'],
  ['sends an unexpected body', { body: {} }, 'PLATFORM_ERROR'],
  ['is too slow', { delay_ms: 10_000 }, 'TIMEOUT'],
  ['responds with 429', { status: 429, retry_after: 30 }, 'UNAVAILABLE'],
];

type Query = (game: GamePlatform) => Promise<unknown>;

const FAILING: [string, string, Query, unknown][] = [
  ['users: the name', '/v1/users/7001', (game) => game.user(7001), { id: 7001, name: 'AdaBuilds' }],
  ['groups: the name', '/v1/groups/502', async (game) => (await game.group(502))?.name, 'Lighthouse Builders'],
  ['apis: a gamepass', '/product-info', (game) => game.itemName({ kind: 'gamepass', id: 601 }), "Captain's Pass"],
  ['economy: an asset', '/v2/assets/', (game) => game.itemName({ kind: 'asset', id: 701 }), 'Anchor Hat'],
  ['badges: a badge', '/v1/badges/', (game) => game.itemName({ kind: 'badge', id: 801 }), 'First Voyage'],
];

describe.each(FAILING)('%s', (_what, match, query, expected) => {
  test.each(FAULTS)('a host that %s is an error once, and the next call succeeds', async (_how, fault, code) => {
    fixture.deadlineMs = deadlineFor(fault);
    const game = fixture.roblox();
    await fixture.game.fault(match, { ...fault, times: 1 });
    await expect(query(game)).rejects.toMatchObject({ code });
    fixture.clock.advance(30_000);
    expect(await query(game)).toEqual(expected);
  });
});

const ranks: Query = async (game) => (await game.ranks([7001], [501])).get(7001);
const owns: Query = (game) => game.owns(7001, [{ kind: 'badge', id: 801 }]);
const OFFICER = new Map([[501, [50]]]);

const UNKNOWN: [string, boolean, string, Query, unknown, unknown][] = [
  ['users: the age', false, '/v1/users/7001', (game) => game.createdAt(7001), new Date('2019-03-01'), 'unknown'],
  ['Open Cloud: ranks', true, '/memberships', ranks, OFFICER, 'unknown'],
  ['groups: the ranks of roles', true, '/v1/groups/501/roles', ranks, OFFICER, 'unknown'],
  ['groups: ranks of a user', false, '/groups/roles', ranks, OFFICER, 'unknown'],
  ['Open Cloud: ownership', true, '/inventory-items', owns, [true], ['unknown']],
  ['inventory: whether it is private', false, '/can-view-inventory', owns, [true], ['unknown']],
  ['inventory: ownership of an item', false, '/is-owned', owns, [true], ['unknown']],
];

describe.each(UNKNOWN)('%s', (_what, withKey, match, query, expected, unknown) => {
  test.each(FAULTS)('the result is unknown with a host that %s, and the next call succeeds', async (_how, fault) => {
    fixture.deadlineMs = deadlineFor(fault);
    const game = withKey ? fixture.robloxWithKey() : fixture.roblox();
    await fixture.game.fault(match, { ...fault, times: 1 });
    // Open Cloud responds with 403 for a private inventory.
    const isHidden = match === '/inventory-items' && fault['status'] === 403;
    expect(await query(game)).toEqual(isHidden ? ['hidden'] : unknown);
    fixture.clock.advance(30_000);
    expect(await query(game)).toEqual(expected);
  });
});

test('a failing host does not affect calls to the others', async () => {
  const game = fixture.roblox();
  await fixture.game.fault('/v1/badges', { status: 500 });
  for (let call = 0; call < 10; call++) {
    await expect(game.itemName({ kind: 'badge', id: 801 })).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  }
  await expect(game.itemName({ kind: 'badge', id: 801 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await game.itemName({ kind: 'asset', id: 701 })).toBe('Anchor Hat');
  expect((await fixture.game.calls())['GET /v1/badges/:item']).toBe(10);
});

test('at most twenty calls to a host are in flight', async () => {
  const held: (() => void)[] = [];
  const url = await fixture.serve((path, response) => {
    if (path === '/barrier') response.end();
    else held.push(() => response.end(JSON.stringify({ id: Number(path.split('/').at(-1)), name: 'Ada' })));
  });
  const game = fixture.roblox({ GAME_USERS_URL: url });
  const users = Promise.all(Array.from({ length: 100 }, (_, id) => game.user(id)));
  for (let round = 0; round < 5; round++) {
    await expect.poll(() => held).toHaveLength(20);
    // A request that was sent before this one has arrived by now.
    await fetch(`${url}/barrier`);
    expect(held).toHaveLength(20);
    for (const respond of held.splice(0)) respond();
  }
  expect((await users).map((user) => user?.id)).toEqual(Array.from({ length: 100 }, (_, id) => id));
});

test('the key is sent to Open Cloud only', async () => {
  const seen: Record<string, unknown>[] = [];
  const url = await fixture.serve((path, response, request) => {
    seen.push({ path: path.split('?')[0], key: request.headers['x-api-key'] });
    response.end('{}');
  });
  const game = fixture.robloxWithKey({ GAME_APIS_URL: url, GAME_USERS_URL: url });
  await game.owns(1, [{ kind: 'badge', id: 2 }]);
  await Promise.allSettled([game.itemName({ kind: 'gamepass', id: 3 }), game.user(4)]);
  expect(seen).toEqual([
    { path: '/cloud/v2/users/1/inventory-items', key: 'test-game-key' },
    { path: '/game-passes/v1/game-passes/3/product-info', key: undefined },
    { path: '/v1/users/4', key: undefined },
  ]);
});

test('calls are counted by host and outcome', async () => {
  const game = fixture.roblox();
  const query = (id: number) => game.itemName({ kind: 'badge', id });
  const counter = fixture.metrics.counter('platform_calls_total', '', ['host', 'outcome']);
  const counts = async () =>
    new Map((await counter.get()).values.map(({ labels, value }) => [`${labels['host']} ${labels['outcome']}`, value]));
  const before = await counts();
  await Promise.all([query(801), query(802), query(1)]);
  await fixture.game.fault('/v1/badges', { reset: true, times: 1 });
  await expect(query(2)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  await fixture.game.fault('/v1/badges', { status: 429, retry_after: 30, times: 1 });
  await expect(query(3)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(query(4)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const grown = [...(await counts())].map(([series, value]) => [series, value - (before.get(series) ?? 0)] as const);
  expect(Object.fromEntries(grown.filter(([, growth]) => growth > 0))).toEqual({
    'game-badges 200': 2,
    'game-badges 404': 1,
    'game-badges failed': 1,
    'game-badges 429': 1,
    'game-badges held back': 1,
  });
});
