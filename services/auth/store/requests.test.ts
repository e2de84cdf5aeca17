import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import type { AuthConfig } from '../config.ts';
import { retentionRules } from '../service.ts';
import { addReport, listDays, type MinuteCounts, sumMinutes } from './requests.ts';

const GUILD = '900000000000000001';
const OTHER = '900000000000000002';
const MINUTE = 60_000;
const DAY = 86_400_000;
/** 90 seconds after midnight (UTC). */
const NOW = new Date('2026-03-02T00:01:30Z');

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(async () => {
  await database.query('TRUNCATE auth.guilds, auth.request_minutes, auth.request_days, auth.request_reporters CASCADE');
  await addGuilds([GUILD, OTHER]);
});

async function addGuilds(guildIds: readonly string[]): Promise<void> {
  await database.query('INSERT INTO auth.guilds SELECT unnest($1::text[]), 2', [guildIds]);
  await database.query(
    `INSERT INTO auth.keys (guild_id, number, name, ip_allowlist, created_at, version, changed_at)
     SELECT unnest($1::text[]), 1, '', '{}', now(), 1, now()`,
    [guildIds],
  );
}

const minuteOf = (at: Date) => new Date(Math.floor(at.getTime() / MINUTE) * MINUTE);
const counts = (changes: Partial<MinuteCounts> = {}): MinuteCounts => ({
  guildId: GUILD,
  category: 'lookup',
  minute: minuteOf(NOW),
  allowed: 1,
  rejected: 0,
  ...changes,
});
/** Pools that are connected. */
async function openPools(): Promise<Database[]> {
  const pools = await Promise.all(Array.from({ length: 4 }, () => openTestPool(testDatabase.url)));
  for (const pool of pools) await pool.query('SELECT 1');
  return pools;
}
let sequences = 0;
const add = (all: MinuteCounts[], { reporter = 'one', sequence = ++sequences, now = NOW } = {}) =>
  addReport(database, { reporter, sequence, counts: all }, now);
const hourBefore = (now: Date) => new Date(now.getTime() - 60 * MINUTE);
const lastHour = (guildId = GUILD, now = NOW) => sumMinutes(database, guildId, hourBefore(now));
const days = (guildId = GUILD, now = NOW) => listDays(database, guildId, now, 30);

describe('a report', () => {
  test('is added to the minutes and days of its guilds, and to what others have reported', async () => {
    expect(await add([counts({ allowed: 5, rejected: 2 }), counts({ guildId: OTHER, category: 'sync_write' })])).toBe(
      true,
    );
    expect(await add([counts({ allowed: 10, rejected: 1 })], { reporter: 'two' })).toBe(true);
    expect(await lastHour()).toEqual([{ category: 'lookup', allowed: 15, rejected: 3 }]);
    expect(await lastHour(OTHER)).toEqual([{ category: 'sync_write', allowed: 1, rejected: 0 }]);
    const day = new Date('2026-03-02T00:00:00Z');
    expect(await days()).toEqual([{ day, category: 'lookup', allowed: 15, rejected: 3 }]);
  });

  test('is added once, however often and late it is sent again', async () => {
    const report = { reporter: 'one', sequence: 1 };
    expect(await add([counts({ allowed: 5 })], report)).toBe(true);
    expect(await add([counts({ allowed: 5 })], report)).toBe(false);
    expect(await add([counts({ allowed: 7 })], { reporter: 'one', sequence: 2 })).toBe(true);
    expect(await add([counts({ allowed: 5 })], report)).toBe(false);
    // Another start of a gateway begins at 1 again.
    expect(await add([counts({ allowed: 9 })], { reporter: 'two', sequence: 1 })).toBe(true);
    expect((await lastHour())[0]?.allowed).toBe(21);
    expect((await days())[0]?.allowed).toBe(21);
  });

  test('that is sent several times at the same time is added once', async () => {
    const pools = await openPools();
    const report = { reporter: 'one', sequence: 1, counts: [counts({ allowed: 3 })] };
    const added = await Promise.all(pools.map((pool) => addReport(pool, report, NOW)));
    await Promise.all(pools.map((pool) => pool.close()));
    expect(added.filter(Boolean)).toHaveLength(1);
    expect((await lastHour())[0]?.allowed).toBe(3);
  });

  test('does not block those of other gateways about the same guilds', async () => {
    const guilds = Array.from({ length: 200 }, (_, n) => String(910000000000000000n + BigInt(n)));
    await addGuilds(guilds);
    const pools = await openPools();
    const report = async (pool: Database, index: number) => {
      const all = guilds.map((guildId) => counts({ guildId }));
      // Each gateway lists its guilds in an order of its own.
      const ordered = index % 2 === 0 ? all : all.toReversed();
      for (let sequence = 1; sequence <= 10; sequence++) {
        await addReport(pool, { reporter: `gateway ${index}`, sequence, counts: ordered }, NOW);
      }
    };
    await Promise.all(pools.map(report));
    await Promise.all(pools.map((pool) => pool.close()));
    for (const guildId of [guilds[0], guilds[199]]) expect((await lastHour(guildId))[0]?.allowed).toBe(40);
  });

  test('counts nothing for a guild without keys, which may have been erased', async () => {
    await add([counts({ guildId: '900000000000000009' }), counts()]);
    expect(await lastHour('900000000000000009')).toEqual([]);
    expect(await days('900000000000000009')).toEqual([]);
    expect(await lastHour()).toHaveLength(1);
  });

  test('of a gateway whose clock is ahead counts towards the current minute, and a late one only towards its day', async () => {
    await add([counts({ minute: new Date(NOW.getTime() + 10 * DAY) }), counts()]);
    expect(await lastHour()).toEqual([{ category: 'lookup', allowed: 2, rejected: 0 }]);
    await add([counts({ minute: minuteOf(new Date(NOW.getTime() - 3 * 3_600_000)), allowed: 4 })]);
    expect(await database.query('SELECT 1 FROM auth.request_minutes')).toHaveLength(1);
    expect((await days()).map(({ allowed }) => allowed)).toEqual([2, 4]);
  });
});

describe('the boundary', () => {
  test('of the hour is 60 minutes, the current one included', async () => {
    const current = minuteOf(NOW).getTime();
    for (let age = 0; age < 70; age++) await add([counts({ minute: new Date(current - age * MINUTE) })]);
    expect((await lastHour())[0]?.allowed).toBe(60);
    expect((await lastHour(GUILD, new Date(NOW.getTime() + MINUTE)))[0]?.allowed).toBe(59);
  });

  test('of a day is midnight (UTC), and there are 30 days with today', async () => {
    await add([counts({ minute: new Date('2026-03-01T23:59:00Z'), allowed: 3 })]);
    await add([counts({ minute: new Date('2026-03-02T00:00:00Z'), allowed: 5 })]);
    await add([counts({ minute: new Date('2026-02-01T00:00:00Z'), allowed: 7 })]);
    await add([counts({ minute: new Date('2026-01-31T23:59:00Z'), allowed: 9 })]);
    expect((await days()).map(({ day, allowed }) => [day.toISOString().slice(0, 10), allowed])).toEqual([
      ['2026-03-02', 5],
      ['2026-03-01', 3],
      ['2026-02-01', 7],
    ]);
    const nextDay = new Date(NOW.getTime() + DAY);
    expect((await days(GUILD, nextDay)).map(({ allowed }) => allowed)).toEqual([5, 3]);
  });
});

test('retention deletes minutes after two hours, days after their time and the numbers of old reports', async () => {
  const clock = new ManualClock();
  const log = await createLog({ service: 'test', level: 'silent' });
  const rules = retentionRules({ RETENTION_REQUESTS_SECONDS: 30 * 86_400 } as AuthConfig);
  const retention = new Retention({ database, rules, clock, log });
  const start = clock.now();
  const current = new Date(Math.floor(start / MINUTE) * MINUTE);
  await add([counts({ minute: current })], { reporter: 'one', sequence: 1, now: new Date(start) });
  const rows = async () => {
    const tables = ['request_minutes', 'request_reporters', 'request_days'];
    const found = await Promise.all(tables.map((table) => database.query(`SELECT 1 FROM auth.${table}`)));
    return found.map(({ length }) => length);
  };
  await retention.sweep();
  expect(await rows()).toEqual([1, 1, 1]);
  clock.advance(2 * 3_600_000 + MINUTE);
  await retention.sweep();
  expect(await rows()).toEqual([0, 1, 1]);
  clock.advance(7 * DAY);
  await retention.sweep();
  expect(await rows()).toEqual([0, 0, 1]);
  clock.advance(24 * DAY);
  await retention.sweep();
  expect(await rows()).toEqual([0, 0, 0]);
});

test('the statements use indexes among the counts of 1,000 guilds', async () => {
  const guilds = Array.from({ length: 1_000 }, (_, n) => String(910000000000000000n + BigInt(n)));
  await addGuilds(guilds);
  await database.query(
    `INSERT INTO auth.request_minutes SELECT guild_id, 'lookup', $1::timestamptz - n * interval '1 minute', 1, 0
     FROM auth.guilds, generate_series(0, 119) n`,
    [minuteOf(NOW)],
  );
  await database.query(
    `INSERT INTO auth.request_days SELECT guild_id, 'c' || c, date_trunc('day', $1::timestamptz, 'UTC') - n * interval '24 hours', 1, 0
     FROM auth.guilds, generate_series(0, 29) n, generate_series(1, 4) c`,
    [NOW],
  );
  await database.query('INSERT INTO auth.request_reporters SELECT n::text, 1, now() FROM generate_series(1, 10000) n');
  await database.query(
    'VACUUM ANALYZE auth.guilds, auth.keys, auth.request_minutes, auth.request_days, auth.request_reporters',
  );
  const [guildId = ''] = guilds.slice(500);
  const scans = (statement: (on: Queryable) => Promise<unknown>) => scansOf(database, statement);
  expect(await scans((on) => sumMinutes(on, guildId, hourBefore(NOW)))).toEqual(['request_minutes_pkey']);
  expect(await scans((on) => listDays(on, guildId, NOW, 30))).toEqual(['request_days_pkey']);
  const report = { reporter: '5000', sequence: 2, counts: guilds.slice(0, 20).map((id) => counts({ guildId: id })) };
  expect(await scans((on) => addReport(on, report, NOW))).toEqual(['keys_pkey']);
  const deleted = (table: string, column: string) =>
    scans((on) =>
      on.query(`SELECT ctid FROM auth.${table} WHERE ${column} < $1 LIMIT 1000`, [new Date(NOW.getTime() - 90 * DAY)]),
    );
  expect(await deleted('request_minutes', 'minute')).toEqual(['request_minutes_minute']);
  expect(await deleted('request_days', 'day')).toEqual(['request_days_day']);
  expect(await deleted('request_reporters', 'reported_at')).toEqual(['request_reporters_reported_at']);
});
