// Guarantee: the statements that wake game servers find their rows by an index, among a million servers and a million universes.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { amount } from '#test/measure/bounds.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import * as wakeUps from './wake-ups.ts';

const ROWS = amount(100_000, 1_000_000);
const GUILD = '900000000000000050';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  const seed = (text: string) => databaseRows(testDatabase.url, text);
  await seed(
    `INSERT INTO activity.servers (guild_id, server_id, place_id, universe_id, player_count, max_players, heartbeat_at,
       interval_seconds, live_until, is_counted)
     SELECT (900000000000000000 + n % 1000)::text, 's' || n, n % 10, n % 5, 1, 10, now(), 5, now() + interval '1 minute', true
     FROM generate_series(1, ${ROWS}) n`,
  );
  await seed(
    `INSERT INTO activity.wake_ups (guild_id, universe_id, recipients, is_requested, requested_at, not_before)
     SELECT (900000000000000000 + n / 10)::text, n % 10, '{}', n % 2 = 0, now(), now() FROM generate_series(1, ${ROWS}) n`,
  );
  for (const table of ['servers', 'wake_ups']) await seed(`VACUUM ANALYZE activity.${table}`);
}, 600_000);
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const request = (recipients: string[]) => (on: Queryable) =>
  wakeUps.requestWakeUps(on, { guildId: GUILD, recipients, now: new Date() });
const UNIVERSES = 'wake_ups_pkey';

const statements: [string, (on: Queryable) => Promise<unknown>, string[]][] = [
  ['a request for all servers', request([]), ['servers_counted', UNIVERSES]],
  ['a request for one server', request(['server:s50']), ['servers_counted', UNIVERSES]],
  ['takeWakeUps', (on) => wakeUps.takeWakeUps(on, GUILD), [UNIVERSES, UNIVERSES]],
  ['pauseWakeUps', (on) => wakeUps.pauseWakeUps(on, GUILD, 1), [UNIVERSES]],
  [
    'retention',
    (on) =>
      on.query('SELECT ctid FROM activity.wake_ups WHERE requested_at < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED', [
        new Date(0),
      ]),
    ['wake_ups_requested'],
  ],
];

test.each(statements)('%s finds its rows by an index', async (_name, statement, indexes) => {
  expect((await scansOf(database, statement)).toSorted()).toEqual(indexes.toSorted());
});
