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
  ['answers 500', { status: 500 }, 'PLATFORM_ERROR'],
  ['answers 503', { status: 503 }, 'PLATFORM_ERROR'],
  ['refuses', { status: 403 }, 'PLATFORM_ERROR'],
  ['has lost the route', GATEWAY_404, 'PLATFORM_ERROR'],
  ['cuts the connection', { reset: true }, 'PLATFORM_ERROR'],
  ['answers broken JSON', { broken: true }, 'PLATFORM_ERROR'],
  ['is cut off in the middle', { truncate: true }, 'PLATFORM_ERROR'],
  ['answers in another shape', { body: {} }, 'PLATFORM_ERROR'],
  ['is too slow', { delay_ms: 10_000 }, 'TIMEOUT'],
  ['answers 429', { status: 429, retry_after: 30 }, 'UNAVAILABLE'],
];

type Ask = (game: GamePlatform) => Promise<unknown>;

const FAILING: [string, string, Ask, unknown][] = [
  ['users: the name', '/v1/users/7001', (game) => game.user(7001), { id: 7001, name: 'AdaBuilds' }],
  ['groups: the name', '/v1/groups/502', async (game) => (await game.group(502))?.name, 'Lighthouse Builders'],
  ['apis: a gamepass', '/product-info', (game) => game.itemName({ kind: 'gamepass', id: 601 }), "Captain's Pass"],
  ['economy: an asset', '/v2/assets/', (game) => game.itemName({ kind: 'asset', id: 701 }), 'Anchor Hat'],
  ['badges: a badge', '/v1/badges/', (game) => game.itemName({ kind: 'badge', id: 801 }), 'First Voyage'],
];

describe.each(FAILING)('%s', (_what, match, ask, expected) => {
  test.each(FAULTS)('a host that %s is an error, and forgotten the next time', async (_how, fault, code) => {
    fixture.deadlineMs = deadlineFor(fault);
    const game = fixture.roblox();
    await fixture.game.fault(match, { ...fault, times: 1 });
    await expect(ask(game)).rejects.toMatchObject({ code });
    fixture.clock.advance(30_000);
    expect(await ask(game)).toEqual(expected);
  });
});

const ranks: Ask = async (game) => (await game.ranks([7001], [501])).get(7001);
const owns: Ask = (game) => game.owns(7001, [{ kind: 'badge', id: 801 }]);
const OFFICER = new Map([[501, [50]]]);

const UNKNOWN: [string, boolean, string, Ask, unknown, unknown][] = [
  ['users: the age', false, '/v1/users/7001', (game) => game.createdAt(7001), new Date('2019-03-01'), 'unknown'],
  ['Open Cloud: ranks', true, '/memberships', ranks, OFFICER, 'unknown'],
  ['groups: the ranks of roles', true, '/v1/groups/501/roles', ranks, OFFICER, 'unknown'],
  ['groups: ranks of a user', false, '/groups/roles', ranks, OFFICER, 'unknown'],
  ['Open Cloud: ownership', true, '/inventory-items', owns, [true], ['unknown']],
  ['inventory: whether it is private', false, '/can-view-inventory', owns, [true], ['unknown']],
  ['inventory: ownership of an item', false, '/is-owned', owns, [true], ['unknown']],
];

describe.each(UNKNOWN)('%s', (_what, withKey, match, ask, expected, unknown) => {
  test.each(FAULTS)('with a host that %s it is unknown, and asked for the next time', async (_how, fault) => {
    fixture.deadlineMs = deadlineFor(fault);
    const game = withKey ? fixture.robloxWithKey() : fixture.roblox();
    await fixture.game.fault(match, { ...fault, times: 1 });
    // Open Cloud refuses to show a private inventory.
    const isHidden = match === '/inventory-items' && fault['status'] === 403;
    expect(await ask(game)).toEqual(isHidden ? ['hidden'] : unknown);
    fixture.clock.advance(30_000);
    expect(await ask(game)).toEqual(expected);
  });
});

test('a host that fails leaves the calls to the others alone', async () => {
  const game = fixture.roblox();
  await fixture.game.fault('/v1/badges', { status: 500 });
  for (let call = 0; call < 10; call++) {
    await expect(game.itemName({ kind: 'badge', id: 801 })).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  }
  await expect(game.itemName({ kind: 'badge', id: 801 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await game.itemName({ kind: 'asset', id: 701 })).toBe('Anchor Hat');
  expect((await fixture.game.calls())['GET /v1/badges/:item']).toBe(10);
});

test('a host is called at most twenty times at once', async () => {
  const held: (() => void)[] = [];
  const url = await fixture.serve((path, response) => {
    if (path === '/barrier') response.end();
    else held.push(() => response.end(JSON.stringify({ id: Number(path.split('/').at(-1)), name: 'Ada' })));
  });
  const game = fixture.roblox({ GAME_USERS_URL: url });
  const users = Promise.all(Array.from({ length: 100 }, (_, id) => game.user(id)));
  for (let round = 0; round < 5; round++) {
    await expect.poll(() => held).toHaveLength(20);
    // What was sent before this has come by now.
    await fetch(`${url}/barrier`);
    expect(held).toHaveLength(20);
    for (const answer of held.splice(0)) answer();
  }
  expect((await users).map((user) => user?.id)).toEqual(Array.from({ length: 100 }, (_, id) => id));
});

test('the key goes to Open Cloud alone', async () => {
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

test('calls are counted by host and outcome alone', async () => {
  const game = fixture.roblox();
  const ask = (id: number) => game.itemName({ kind: 'badge', id });
  const counter = fixture.metrics.counter('platform_calls_total', '', ['host', 'outcome']);
  const counts = async () =>
    new Map((await counter.get()).values.map(({ labels, value }) => [`${labels['host']} ${labels['outcome']}`, value]));
  const before = await counts();
  await Promise.all([ask(801), ask(802), ask(1)]);
  await fixture.game.fault('/v1/badges', { reset: true, times: 1 });
  await expect(ask(2)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  await fixture.game.fault('/v1/badges', { status: 429, retry_after: 30, times: 1 });
  await expect(ask(3)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(ask(4)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const grown = [...(await counts())].map(([series, value]) => [series, value - (before.get(series) ?? 0)] as const);
  expect(Object.fromEntries(grown.filter(([, growth]) => growth > 0))).toEqual({
    'game-badges 200': 2,
    'game-badges 404': 1,
    'game-badges failed': 1,
    'game-badges 429': 1,
    'game-badges held back': 1,
  });
});
