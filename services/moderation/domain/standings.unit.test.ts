import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ReadCache } from '#kit/changes/read-cache.ts';
import { ManualClock } from '#kit/clock.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { ModerationTelemetry } from '../telemetry.ts';
import type { Standing } from './standing.ts';
import { Standings } from './standings.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000002';

const clock = new ManualClock();
const newCache = () => new ReadCache<Standing>({ clock, ttlMs: 10_000, max: 100 });

test('statuses are cached by guild, player and place', async () => {
  let statements = 0;
  const query = async <Result>() => {
    statements += 1;
    return [] as Result[];
  };
  const telemetry = new ModerationTelemetry(new Metrics(), await createLog({ service: 'test', level: 'silent' }));
  const options = { database: { query }, cache: newCache(), clock, isReceiving: () => true, telemetry };
  const standings = new Standings(options);
  const check = (guildId: string, gameId: number, placeId: number | null) =>
    standings.find({ guildId, gameIds: [gameId], placeId });
  for (const [guildId, gameId, placeId] of [
    [GUILD, 1, null],
    [OTHER_GUILD, 1, null],
    [GUILD, 2, null],
    [GUILD, 1, 5],
  ] as const) {
    const before = statements;
    await check(guildId, gameId, placeId);
    expect(statements).toBe(before + 1);
    await check(guildId, gameId, placeId);
    expect(statements).toBe(before + 1);
  }
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
