import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { EVENT_TYPE_NAMES } from '#proto/rest/events/index.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { costOf, countGenericPlanRuns, scansOf } from '#test/postgres/explain.ts';
import { isErasureReported } from './erased-persons.ts';
import { readEvents, readEventsById, readNewestSeqs } from './log.ts';

const GUILDS = 200;
const PER_DAY = 167;
const DAYS = 30;
const GUILD = '900000000000000100';
const NEWEST = PER_DAY * DAYS;

let testDatabase: TestDatabase;
let database: Database;

/** 1,002,000 events of 200 guilds in the partitions of the last thirty days, and empty ones for a week ahead. */
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  const fill = [
    `SELECT events.create_partition('log', (now() AT TIME ZONE 'UTC')::date - day)
     FROM generate_series(-7, ${DAYS - 1}) AS day`,
    `INSERT INTO events.log
     SELECT (900000000000000000 + guild)::text, (now() AT TIME ZONE 'UTC')::date - ${DAYS} + day,
       (day - 1) * ${PER_DAY} + n, gen_random_uuid(), CASE WHEN n % 50 = 0 THEN 'link.created' ELSE 'ban.created' END,
       now(), '{"kind": "system", "id": "moderation"}', ARRAY['game:' || guild * 100000 + day * 1000 + n], '{"n": 1}', 8
     FROM generate_series(1, ${DAYS}) AS day, generate_series(1, ${GUILDS}) AS guild, generate_series(1, ${PER_DAY}) AS n`,
    `INSERT INTO events.days
     SELECT (900000000000000000 + guild)::text, (now() AT TIME ZONE 'UTC')::date - ${DAYS} + day, (day - 1) * ${PER_DAY} + 1
     FROM generate_series(1, ${DAYS}) AS day, generate_series(1, ${GUILDS}) AS guild`,
    `INSERT INTO events.counters
     SELECT (900000000000000000 + guild)::text, ${NEWEST}, (now() AT TIME ZONE 'UTC')::date
     FROM generate_series(1, 100 * ${GUILDS}) AS guild`,
    'VACUUM ANALYZE events.log, events.days, events.counters',
  ];
  for (const statement of fill) await databaseRows(testDatabase.url, statement);
}, 300_000);
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const read =
  (after: number | null, types: readonly string[] = EVENT_TYPE_NAMES) =>
  (on: Queryable) =>
    readEvents(on, { guildId: GUILD, after, types, limit: 100, maxBytes: 1_000_000 }).catch(() => undefined);

test.each([
  ['at the end of the log', NEWEST],
  ['in the middle', NEWEST / 2],
  ['from the beginning', null],
])('a read %s finds its partitions by the days, and reads one page', async (_title, after) => {
  const { pages, discarded } = await costOf(database, read(after));
  expect(pages).toBeLessThan(150);
  // Of the guild's days, one row each.
  expect(discarded).toBeLessThan(DAYS);
});

test('a read of a rare type examines 1,000 events and no more', async () => {
  const request = { guildId: GUILD, after: 1_500, types: ['link.created'], limit: 100, maxBytes: 1_000_000 };
  const { events, examinedSeq, newestSeq } = await readEvents(database, request);
  expect({ count: events.length, examinedSeq, newestSeq }).toEqual({
    count: 18,
    examinedSeq: 2_500,
    newestSeq: NEWEST,
  });
  expect((await costOf(database, read(1_500, ['link.created']))).pages).toBeLessThan(1_200);
});

test('reads use indexes only, with a plan that does not depend on the values', async () => {
  for (const statement of [
    read(2_000),
    (on: Queryable) => readEventsById(on, GUILD, ['6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60']),
    (on: Queryable) => isErasureReported(on, GUILD, { persons: ['game:1', 'chat:1'], marks: ['erased:game:1'] }),
  ]) {
    // An empty partition of a day to come has no page to read.
    const today = `Seq Scan of log_${new Date().toISOString().slice(0, 10).replaceAll('-', '')}`;
    const all = await scansOf(database, statement);
    // The index of the days of all guilds.
    expect(all).not.toContain('days_day');
    const scans = all.filter((scan) => scan.startsWith('Seq Scan'));
    expect(scans.filter((scan) => !scan.startsWith('Seq Scan of log_') || scan <= today)).toEqual([]);
  }
  const counted = await scansOf(database, (on) => readNewestSeqs(on, [GUILD]));
  expect(counted).toEqual(['counters_pkey']);
  expect(await countGenericPlanRuns(database, read(2_000))).toBeGreaterThan(0);
});

test('the events of a person are found in every partition by the index of persons', async () => {
  const [person] = ['game:10005083'];
  const { pages, discarded } = await costOf(database, (on) =>
    on.query('SELECT seq FROM events.log WHERE guild_id = $1 AND persons @> ARRAY[$2]', [GUILD, person]),
  );
  expect(discarded).toBe(0);
  expect(pages).toBeLessThan(400);
});
