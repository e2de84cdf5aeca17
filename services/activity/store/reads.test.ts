import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { costOf, scansOf } from '#test/postgres/explain.ts';
import { countReservations } from './admissions.ts';
import * as servers from './servers.ts';
import * as sessions from './sessions.ts';
import * as staff from './staff.ts';
import { findStaff, readStaffDays } from './staff-days.ts';

const ROWS = 100_000;
const GUILD = '900000000000000050';
const NONE = '00000000-0000-4000-8000-000000000000';

let testDatabase: TestDatabase;
let database: Database;
const now = new Date();

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  const guild = `'9000000000000000' || lpad((n % 100)::text, 2, '0')`;
  const past = `now() - n * interval '1 minute'`;
  // Counting each of these rows would take long, and is not what is tested here.
  await database.query('ALTER TABLE activity.sessions DISABLE TRIGGER USER');
  await database.query('ALTER TABLE activity.actions DISABLE TRIGGER USER');
  const fill = async (table: string, columns: string) => {
    for (let from = 1; from <= ROWS; from += 10_000) {
      const numbers = `generate_series(${from}, ${from + 9_999}) n`;
      await database.query(`INSERT INTO activity.${table} SELECT ${columns} FROM ${numbers}`);
    }
    await database.query(`ANALYZE activity.${table.split(' ')[0]}`);
  };
  await fill(
    'sessions (guild_id, session_id, game_id, place_id, server_id, started_at, beat_at, ended_at)',
    `${guild}, gen_random_uuid(), n / 100 % 40, 1, 's' || n, ${past}, ${past}, CASE WHEN n > 4000 THEN ${past} END`,
  );
  await fill(
    'actions (guild_id, action_id, actor_game_id, target_game_id, action_type, occurred_at, created_at)',
    `${guild}, gen_random_uuid(), n / 100 % 40, CASE WHEN n % 2 = 0 THEN n / 100 % 300 END,
     'type' || n / 100 % 20, ${past}, ${past}`,
  );
  await fill(
    'staff_days (guild_id, game_id, day, session_totals)',
    `${guild}, n / 100 % 100, current_date - n / 10000, '\\x000000000001'`,
  );
  await fill(
    `servers (guild_id, server_id, place_id, player_count, max_players, players, heartbeat_at, interval_seconds,
       live_until, is_counted)`,
    `${guild}, 's' || n, 1, 1, 1, '[{"game_id":7001}]', ${past}, 15, now() + interval '1 hour', n <= 2000`,
  );
  await fill(
    'commands (guild_id, server_id, type, payload, created_at, live_at, expires_at)',
    `${guild}, '', 'message', '{}', ${past}, ${past}, ${past} + interval '1 hour'`,
  );
}, 300_000);

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const middle = new Date(now.getTime() - (ROWS / 2) * 60_000);
const after = { micros: String(BigInt(middle.getTime()) * 1_000n), id: NONE };
const page = { after, limit: 101 };
const range = { from: new Date(middle.getTime() - 86_400_000), before: middle };
type Statement = [string, (on: Queryable) => Promise<unknown>, string];

const sessionLists: Statement[] = [
  ['all sessions', (on) => sessions.listSessions(on, GUILD, range, page), 'sessions_list'],
  ['ended sessions', (on) => sessions.listSessions(on, GUILD, { open: false }, page), 'sessions_list'],
  ['open sessions', (on) => sessions.listSessions(on, GUILD, { open: true }, page), 'sessions_open_list'],
  ["a member's sessions", (on) => sessions.listSessions(on, GUILD, { gameId: 20 }, page), 'sessions_member'],
  [
    "a member's sessions in a range",
    (on) => sessions.listSessions(on, GUILD, { gameId: 20, ...range }, { after: undefined, limit: 101 }),
    'sessions_member',
  ],
];

const actionLists: Statement[] = [
  ['all actions', (on) => staff.listActions(on, GUILD, range, page), 'actions_list'],
  ["a member's actions", (on) => staff.listActions(on, GUILD, { actorGameId: 20 }, page), 'actions_by_actor'],
  ['actions about a player', (on) => staff.listActions(on, GUILD, { targetGameId: 20 }, page), 'actions_by_target'],
  ['actions of a type', (on) => staff.listActions(on, GUILD, { type: 'type5' }, page), 'actions_by_type'],
];

test.each([...sessionLists, ...actionLists])(
  `of ${ROWS} rows, the list of %s reads only those of its page`,
  async (_name, statement, index) => {
    expect(await scansOf(database, statement)).toEqual([index]);
    const { discarded } = await costOf(database, statement);
    expect(discarded).toBe(0);
  },
);

test.each<Statement>([
  ['a server', (on) => servers.findServer(on, GUILD, 's50', now), 'servers_counted'],
  ["a player's server", (on) => servers.findServerOfPlayer(on, GUILD, 7002, now), 'servers_counted'],
])(`of ${ROWS} servers, finding %s reads only live ones of the guild`, async (_name, statement, index) => {
  expect(await scansOf(database, statement)).toEqual([index]);
  expect((await costOf(database, statement)).discarded).toBeLessThanOrEqual(20);
});

const today = Math.floor(now.getTime() / 86_400_000);
const week = { firstDay: today - 7, lastDay: today - 1 };

test(`of ${ROWS} days of staff, a report reads only those of its page`, async () => {
  const staffIds = Array.from({ length: 25 }, (_, n) => 10 + n);
  const read = (on: Queryable) => readStaffDays(on, GUILD, staffIds, week);
  // Either index has only open sessions, of which the guild has 40.
  expect(await scansOf(database, read)).toEqual(['staff_days_id', expect.stringMatching(/^sessions_open(?:_list)?$/)]);
  expect((await costOf(database, read)).discarded).toBeLessThanOrEqual(40);
});

test(`of ${ROWS} days of staff, the search for staff members goes from one to the next`, async () => {
  const find = (on: Queryable) => findStaff(on, GUILD, week, { after: 10, limit: 20 });
  const openSessions = expect.stringMatching(/^sessions_open(?:_list)?$/);
  for (const scan of await scansOf(database, find)) expect(['staff_days_id', openSessions]).toContainEqual(scan);
  const { discarded, pages } = await costOf(database, find);
  expect(discarded).toBeLessThanOrEqual(20 * 40);
  expect(pages).toBeLessThan(20 * 20);
});

test('counting the commands to reserve for a returning server reads only the open commands of its guild', async () => {
  const server = { guildId: GUILD, serverId: 's1', cursor: 0, isCounted: false, heartbeatAt: now, liveUntil: now };
  const count = (on: Queryable) => countReservations(on, [server], now);
  expect(await scansOf(database, count)).toEqual(['commands_queue']);
  const { pages, discarded } = await costOf(database, count);
  expect(pages).toBeLessThan(20);
  expect(discarded).toBeLessThan(20);
});
