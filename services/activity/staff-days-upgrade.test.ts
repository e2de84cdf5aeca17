// Upgrades from the release without totals of staff: the migration counts what is stored, and processes of that release
// can write sessions and actions on the new schema until all are replaced.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '#kit/postgres/migrations/migrate.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { readStaffDays } from './store/staff-days.ts';

const MIGRATIONS = join(import.meta.dirname, 'migrations');
const GUILD = '900000000000000001';
const DAY = { firstDay: 20_700, lastDay: 20_700 };

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { url } = testDatabase;
  await databaseRows(url, 'DROP SCHEMA activity CASCADE');
  const directory = mkdtempSync(join(tmpdir(), 'migrations-'));
  cpSync(MIGRATIONS, directory, { recursive: true, filter: (path) => !/00[1-9][0-9]_[^/]*$/.test(path) });
  await migrate({ url, service: 'activity', directory });
  rmSync(directory, { recursive: true });
  database = await openTestPool(url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

// The statements of the previous release, with rows at random times of three days.
const STARTED = `(timestamptz '2026-09-03 00:00Z' + n % 97 * interval '37 minutes')`;
const insertSessions = (from: number, to: number) =>
  database.query(
    `INSERT INTO activity.sessions
       (guild_id, session_id, game_id, place_id, server_id, started_at, beat_at, idle_seconds, check_at)
     SELECT $1, gen_random_uuid(), 7000 + n % 5, 1, 's' || n, ${STARTED}, ${STARTED}, n, now()
     FROM generate_series($2::int, $3::int) n`,
    [GUILD, from, to],
  );
const endSessions = (part: number) =>
  database.query(
    `UPDATE activity.sessions SET ended_at = beat_at + game_id * interval '2 seconds', end_reason = 'left'
     WHERE guild_id = $1 AND ended_at IS NULL AND game_id % 5 = $2`,
    [GUILD, part],
  );
const insertActions = (from: number, to: number) =>
  database.query(
    `INSERT INTO activity.actions (guild_id, action_id, actor_game_id, action_type, occurred_at, created_at)
     SELECT $1, gen_random_uuid(), 7000 + n % 5, 'type ' || n % 7, ${STARTED}, now()
     FROM generate_series($2::int, $3::int) n`,
    [GUILD, from, to],
  );
/** Returns all days, with their totals in the order of their keys. */
const storedDays = () =>
  database.query(
    `SELECT guild_id, game_id, day, action_types, activity.add_totals(session_totals, '{}', '{}') AS sessions,
       activity.add_totals(action_totals, '{}', '{}') AS actions
     FROM activity.staff_days ORDER BY guild_id, game_id, day`,
  );

/** Returns the totals of all sessions and actions as the triggers count them when they are inserted at once. */
async function countedAnew(): Promise<object[]> {
  await database.query(`CREATE TEMPORARY TABLE kept_sessions AS SELECT * FROM activity.sessions`);
  await database.query(`CREATE TEMPORARY TABLE kept_actions AS SELECT * FROM activity.actions`);
  await database.query('DELETE FROM activity.sessions');
  await database.query('DELETE FROM activity.actions');
  expect(await storedDays()).toEqual([]);
  await database.query('INSERT INTO activity.sessions SELECT * FROM kept_sessions');
  await database.query('INSERT INTO activity.actions SELECT * FROM kept_actions');
  await database.query('DROP TABLE kept_sessions, kept_actions');
  return storedDays();
}

test('the migration counts the stored sessions and actions', async () => {
  await insertSessions(1, 300);
  await endSessions(1);
  await endSessions(2);
  await insertActions(1, 300);
  await migrate({ url: testDatabase.url, service: 'activity', directory: MIGRATIONS });
  const days = await storedDays();
  expect(days.length).toBeGreaterThan(10);
  expect(days).toEqual(await countedAnew());
});

test('what a process of the previous release writes is counted', async () => {
  await insertSessions(301, 400);
  await endSessions(3);
  await insertActions(301, 400);
  const days = await storedDays();
  expect(await readStaffDays(database, GUILD, [7003], DAY)).not.toEqual([]);
  expect(await countedAnew()).toEqual(days);
});
