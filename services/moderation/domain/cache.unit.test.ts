import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { ModerationEvents } from '../telemetry.ts';
import { StandingCache } from './cache.ts';
import { Standing, Standings } from './standings.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000002';

const clock = new ManualClock();
const newCache = (max = 100) => new StandingCache({ clock, ttlMs: 10_000, max });
const nothing = () => new Standing([]);

function fill(cache: StandingCache, guildId: string, gameId: number, placeId: number | null = null): Standing {
  const standing = nothing();
  cache.store(cache.beginFill(guildId), guildId, gameId, placeId, standing);
  return standing;
}

test('remembers by guild, user and place for ten seconds after the question', () => {
  const cache = newCache();
  const begun = cache.beginFill(GUILD);
  const standing = nothing();
  clock.advance(3_000);
  cache.store(begun, GUILD, 1, null, standing);
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

test('a change drops its guild alone, a change for all guilds everything', () => {
  const cache = newCache();
  fill(cache, GUILD, 1);
  const other = fill(cache, OTHER_GUILD, 1);
  cache.drop(GUILD);
  expect([cache.find(GUILD, 1, null), cache.find(OTHER_GUILD, 1, null)]).toEqual([undefined, other]);
  fill(cache, GUILD, 1);
  cache.drop('0');
  expect([cache.find(GUILD, 1, null), cache.find(OTHER_GUILD, 1, null)]).toEqual([undefined, undefined]);
});

test.each([
  ['of the guild', (cache: StandingCache) => cache.drop(GUILD)],
  ['of all guilds', (cache: StandingCache) => cache.drop('0')],
  ['that may have been missed', (cache: StandingCache) => cache.dropAll()],
  [
    'of so many guilds that all are forgotten',
    (cache: StandingCache) => {
      cache.drop(GUILD);
      for (let guild = 0; guild < 10_000; guild++) cache.drop(`guild ${guild}`);
    },
  ],
])('what was being read while a change %s came is not remembered', (_case, change) => {
  const cache = newCache();
  const begun = cache.beginFill(GUILD);
  change(cache);
  cache.store(begun, GUILD, 1, null, nothing());
  expect(cache.find(GUILD, 1, null)).toBeUndefined();
  const later = fill(cache, GUILD, 1);
  expect(cache.find(GUILD, 1, null)).toBe(later);
});

test('holds no more than it may; the least recently asked about goes first', () => {
  const cache = newCache(3);
  for (const gameId of [1, 2, 3]) fill(cache, GUILD, gameId);
  cache.find(GUILD, 1, null);
  fill(cache, GUILD, 4);
  const found = [1, 2, 3, 4].filter((gameId) => cache.find(GUILD, gameId, null));
  expect(found).toEqual([1, 3, 4]);
});

test('a check that is remembered makes no call; one that is not sure to hear changes makes one each time', async () => {
  let isHearing = true;
  let statements = 0;
  const query = async <Result>() => {
    statements += 1;
    return [] as Result[];
  };
  const events = new ModerationEvents(new Metrics(), await createLog({ service: 'test', level: 'silent' }));
  const standings = new Standings({
    database: { query },
    cache: newCache(),
    clock,
    isHearing: () => isHearing,
    events,
  });
  const ask = (noCache = false) => standings.find({ guildId: GUILD, gameIds: [1, 2], placeId: null, noCache });
  await ask();
  await ask();
  expect(statements).toBe(1);
  await ask(true);
  expect(statements).toBe(2);
  isHearing = false;
  await ask();
  await ask();
  expect(statements).toBe(4);
  isHearing = true;
  await ask();
  expect(statements).toBe(4);
});

test('a change that comes while a check reads the database shows in the next check, not what was read', async () => {
  const cache = newCache();
  const ban = { id: 1, kind: 'ban', gameId: 1, placeId: null, expiresAt: null };
  let rows: object[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const query = async <Result>() => {
    const found = rows;
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    await gate.promise;
    return found as Result[];
  };
  const events = new ModerationEvents(new Metrics(), await createLog({ service: 'test', level: 'silent' }));
  const standings = new Standings({ database: { query }, cache, clock, isHearing: () => true, events });
  const isBanned = async () => {
    const found = await standings.find({ guildId: GUILD, gameIds: [1], placeId: null });
    return found.get(1)?.punishment('ban', clock.now()) !== undefined;
  };
  const early = isBanned();
  rows = [ban];
  cache.drop(GUILD);
  const late = isBanned();
  // The later one answers first.
  gates[1]?.resolve();
  expect(await late).toBe(true);
  gates[0]?.resolve();
  expect(await early).toBe(false);
  expect(await isBanned()).toBe(true);
});
