import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { costOf } from '#test/postgres/explain.ts';
import { createInstalledDatabase } from '#test/postgres/installed-database.ts';
import { findInstallations } from '#test/restore/installation.ts';
import { findChangedScopes } from './key-scopes.ts';
import { readEvents } from './log.ts';

const GUILD = '900000000000000001';
const PER_DAY = 100_000;
/** Days with events, the last of which is today; partitions of a week ahead are empty. */
const DAYS = 3;
const NEWEST = PER_DAY * DAYS;
const KEY = 'key-1';

/** Events of one guild: three types that occur often, and of each 25,000 events one about a binding and one about a key. */
async function fill(url: string): Promise<void> {
  // Read once: the statements must agree also if a day ends between them.
  const today = `'${new Date().toISOString().slice(0, 10)}'::date`;
  const day = `${today} - ${DAYS} + day`;
  const statements = [
    `SELECT events.create_partition('log', ${day}) FROM generate_series(1, ${DAYS + 7}) AS day`,
    `INSERT INTO events.log
     SELECT '${GUILD}', ${day}, (day - 1) * ${PER_DAY} + n, gen_random_uuid(),
       CASE n % 25000 WHEN 10 THEN 'binding.created' WHEN 20 THEN 'key.changed'
         ELSE (ARRAY['ban.created', 'session.started', 'session.ended'])[1 + n % 3] END,
       now(), '{"kind": "system", "id": "moderation"}', '{}', '{"id": "${KEY}", "scopes": ["bans:read"]}', 43
     FROM generate_series(1, ${DAYS}) AS day, generate_series(1, ${PER_DAY}) AS n`,
    `INSERT INTO events.days
     SELECT '${GUILD}', ${day}, (day - 1) * ${PER_DAY} + 1 FROM generate_series(1, ${DAYS}) AS day`,
    `INSERT INTO events.counters VALUES ('${GUILD}', ${NEWEST}, ${today})`,
    'VACUUM ANALYZE events.log, events.days, events.counters',
  ];
  for (const statement of statements) await databaseRows(url, statement);
}

const request = (after: number, limit = 100) => ({
  guildId: GUILD,
  after,
  types: ['binding.created'],
  limit,
  maxBytes: 1_000_000,
});

// PostgreSQL 18 ends index scans that older versions continue to the guild's newest event.
const servers: [string, () => Promise<TestDatabase>][] = [
  ['the server of the tests', createTestDatabase],
  ...findInstallations().map((each): [string, () => Promise<TestDatabase>] => [
    `PostgreSQL ${each.version}`,
    () => createInstalledDatabase(each),
  ]),
];

describe.each(servers)(`in a guild with ${NEWEST} events on %s`, (_server, create) => {
  let testDatabase: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    testDatabase = await create();
    database = await openTestPool(testDatabase.url);
    await fill(testDatabase.url);
  }, 300_000);
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });

  test.each([
    ['at the beginning', 0],
    ['in the middle of a day', PER_DAY / 2],
    ['over the end of a day', PER_DAY - 500],
    ['near the end of the log', NEWEST - 100],
  ])('a read of a rare type %s reads the 1,000 events that it examines, and no later ones', async (_title, after) => {
    const read = (on: Queryable) => readEvents(on, request(after)).catch(() => undefined);
    const { pages, discarded } = await costOf(database, read);
    expect(pages).toBeLessThan(150);
    // The days of the guild are read twice.
    expect(discarded).toBeLessThanOrEqual(1_000 + 2 * DAYS);
  });

  test('a read over the end of a day returns the events of both days in order, up to its limit', async () => {
    const types = ['binding.created', 'ban.created'];
    const { events, examinedSeq } = await readEvents(database, { ...request(PER_DAY - 2, 6), types });
    expect(events.map(({ seq, type }) => [seq, type])).toEqual([
      [99_999, 'ban.created'],
      [100_003, 'ban.created'],
      [100_006, 'ban.created'],
      [100_009, 'ban.created'],
      [100_010, 'binding.created'],
      [100_012, 'ban.created'],
    ]);
    expect(examinedSeq).toBe(100_012);
  });

  test('the search for the scopes of a key reads the 20,000 newest events, and no older ones', async () => {
    const search = (keyId: string, newestSeq: number) => (on: Queryable) =>
      findChangedScopes(on, { guildId: GUILD, keyId }, newestSeq);
    const { pages, discarded } = await costOf(database, search('unknown', NEWEST));
    expect(pages).toBeLessThan(1_000);
    expect(discarded).toBeLessThanOrEqual(20_000 + DAYS);
    // The newest event about a key is 24,980 events old.
    expect(await search(KEY, NEWEST)(database)).toBeUndefined();
    expect(await search(KEY, NEWEST - 20_000)(database)).toEqual({ scopes: ['bans:read'] });
  });
});
