import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { ModerationTelemetry } from '../telemetry.ts';
import { Standing } from './standing.ts';
import { StandingCache } from './standing-cache.ts';
import { Standings } from './standings.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000002';

const clock = new ManualClock();
const newCache = (max = 100) => new StandingCache({ clock, ttlMs: 10_000, max });
const emptyStanding = () => new Standing([]);

function fill(cache: StandingCache, guildId: string, gameId: number, placeId: number | null = null): Standing {
  const standing = emptyStanding();
  cache.store(cache.beginLoad(guildId), guildId, gameId, placeId, standing);
  return standing;
}

test('caches by guild, player and place for ten seconds from the start of the read', () => {
  const cache = newCache();
  const load = cache.beginLoad(GUILD);
  const standing = emptyStanding();
  clock.advance(3_000);
  cache.store(load, GUILD, 1, null, standing);
  clock.advance(6_999);
  expect(cache.find(GUILD, 1, null)).toBe(standing);
  for (const [guildId, gameId, placeId] of [
    [OTHER_GUILD, 1, null],
    [GUILD, 2, null],
    [GUILD, 1, 5],
  ] as const) {
    expect(cache.find(guildId, gameId, placeId)).toBeUndefined();
  }
  clock.advance(1);
  expect(cache.find(GUILD, 1, null)).toBeUndefined();
});

test('a change invalidates only its guild, a change for all guilds the whole cache', () => {
  const cache = newCache();
  fill(cache, GUILD, 1);
  const other = fill(cache, OTHER_GUILD, 1);
  cache.invalidate(GUILD);
  expect([cache.find(GUILD, 1, null), cache.find(OTHER_GUILD, 1, null)]).toEqual([undefined, other]);
  fill(cache, GUILD, 1);
  cache.invalidate('0');
  expect([cache.find(GUILD, 1, null), cache.find(OTHER_GUILD, 1, null)]).toEqual([undefined, undefined]);
});

test.each([
  ['of the guild', (cache: StandingCache) => cache.invalidate(GUILD)],
  ['of all guilds', (cache: StandingCache) => cache.invalidate('0')],
  ['that may have been missed', (cache: StandingCache) => cache.invalidateAll()],
  [
    'of more than 10,000 guilds, which invalidates the whole cache',
    (cache: StandingCache) => {
      cache.invalidate(GUILD);
      for (let guild = 0; guild < 10_000; guild++) cache.invalidate(`guild ${guild}`);
    },
  ],
])('the result of a read is not cached after a change %s during the read', (_case, change) => {
  const cache = newCache();
  const load = cache.beginLoad(GUILD);
  change(cache);
  cache.store(load, GUILD, 1, null, emptyStanding());
  expect(cache.find(GUILD, 1, null)).toBeUndefined();
  const later = fill(cache, GUILD, 1);
  expect(cache.find(GUILD, 1, null)).toBe(later);
});

test('evicts the least recently used entry above the maximum', () => {
  const cache = newCache(3);
  for (const gameId of [1, 2, 3]) fill(cache, GUILD, gameId);
  cache.find(GUILD, 1, null);
  fill(cache, GUILD, 4);
  const found = [1, 2, 3, 4].filter((gameId) => cache.find(GUILD, gameId, null));
  expect(found).toEqual([1, 3, 4]);
});

test('a cached check sends no query; a replica that may miss changes sends one for each check', async () => {
  let isReceiving = true;
  let statements = 0;
  const query = async <Result>() => {
    statements += 1;
    return [] as Result[];
  };
  const telemetry = new ModerationTelemetry(new Metrics(), await createLog({ service: 'test', level: 'silent' }));
  const standings = new Standings({
    database: { query },
    cache: newCache(),
    clock,
    isReceiving: () => isReceiving,
    telemetry,
  });
  const check = (noCache = false) => standings.find({ guildId: GUILD, gameIds: [1, 2], placeId: null, noCache });
  await check();
  await check();
  expect(statements).toBe(1);
  await check(true);
  expect(statements).toBe(2);
  isReceiving = false;
  await check();
  await check();
  expect(statements).toBe(4);
  isReceiving = true;
  await check();
  expect(statements).toBe(4);
});

test('a change during a check that reads the database is visible in the next check', async () => {
  const cache = newCache();
  const ban = { request: 0, id: 1, kind: 'ban', gameId: 1, placeId: null, expiresAt: null };
  let rows: object[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const query = async <Result>() => {
    const found = rows;
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    await gate.promise;
    return found as Result[];
  };
  const telemetry = new ModerationTelemetry(new Metrics(), await createLog({ service: 'test', level: 'silent' }));
  const standings = new Standings({ database: { query }, cache, clock, isReceiving: () => true, telemetry });
  const isBanned = async () => {
    const found = await standings.find({ guildId: GUILD, gameIds: [1], placeId: null });
    return found.get(1)?.punishment('ban', clock.now()) !== undefined;
  };
  const early = isBanned();
  // The statement of the first check is sent.
  await nextTurn();
  rows = [ban];
  cache.invalidate(GUILD);
  const late = isBanned();
  await nextTurn();
  // The later query returns first.
  gates[1]?.resolve();
  expect(await late).toBe(true);
  gates[0]?.resolve();
  expect(await early).toBe(false);
  expect(await isBanned()).toBe(true);
});
