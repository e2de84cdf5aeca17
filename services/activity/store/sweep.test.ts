import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { sweepGuilds } from './guilds.ts';

const GUILDS = 4_000;
/** The servers of each guild. */
const SERVERS = 10;
const SWEPT = 100;
const guildId = (number: number) => `9000000000000${10_000 + number}`;
const insertServers = (guild: string, count: number) => `INSERT INTO activity.servers
  (guild_id, server_id, place_id, player_count, max_players, heartbeat_at, interval_seconds, live_until, is_counted)
  SELECT ${guild}, 'server-' || n, 1, 0, 0, now(), 15, now() + interval '1 hour', true FROM generate_series(1, ${count}) n`;

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  // The statistics are from a time when one guild had all servers.
  await databaseRows(testDatabase.url, insertServers(`'${guildId(0)}'`, 2_000));
  await databaseRows(testDatabase.url, 'ANALYZE activity.servers');
  await databaseRows(testDatabase.url, insertServers(`(${guildId(1)} + n % ${GUILDS})::text`, GUILDS * SERVERS));
  await databaseRows(
    testDatabase.url,
    'INSERT INTO activity.guilds (guild_id) SELECT DISTINCT guild_id FROM activity.servers',
  );
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** The number of rows that sequential scans of activity.servers have read so far, in all sessions. */
async function rowsReadSequentially(): Promise<number> {
  const text = `SELECT seq_tup_read::int AS rows FROM pg_stat_user_tables WHERE relid = 'activity.servers'::regclass`;
  const [row] = await databaseRows<{ rows: number }>(testDatabase.url, text);
  return row?.rows ?? 0;
}

test('a sweep never reads the servers of other guilds, even if the statistics suggest that one guild has all servers', async () => {
  const swept = Array.from({ length: SWEPT }, (_, number) => guildId(1 + number * 7));
  const before = await rowsReadSequentially();
  const { lapsed, guilds } = await database.transaction((on) => sweepGuilds(on, swept, new Date()));
  expect(lapsed).toEqual([]);
  expect(guilds.map(({ liveServers }) => liveServers)).toEqual(swept.map(() => SERVERS));
  // Statistics of another session appear when it has been idle for a moment.
  await database.query('SELECT pg_stat_force_next_flush()');
  await database.query('SELECT 1');
  expect(await rowsReadSequentially()).toBe(before);
});
