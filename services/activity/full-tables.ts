import type { Database } from '#kit/postgres.ts';
import { amount } from '#test/bounds.ts';
import { databaseRows } from '#test/database.ts';

/** Of tables that grow with what callers send and keep it for long. */
export const ROWS = amount(100_000, 1_000_000);
/** Of the others. */
export const FEW = 100_000;
const PART = 10_000;

/** Fills every table of a test's database as after some weeks, for tests of how statements read them. */
export async function fillTables(url: string, database: Database): Promise<void> {
  // In a hundred guilds. Nearly all of it is over, as after some weeks.
  const guild = `'9000000000000000' || lpad((n % 100)::text, 2, '0')`;
  const past = `now() - n * interval '1 minute'`;
  // In parts, each well within the time that a statement may take.
  const fill = async (into: string, columns: string, rows = FEW) => {
    for (let from = 1; from <= rows; from += PART) {
      const numbers = `generate_series(${from}, ${from + PART - 1}) n`;
      await database.query(`INSERT INTO activity.${into} SELECT ${columns} FROM ${numbers}`);
    }
  };
  await fill(
    'games (guild_id, universe_id, place_id, name, registered_at, updated_at)',
    `${guild}, n, n, 'x', ${past}, ${past}`,
  );
  await fill(
    `servers (guild_id, server_id, place_id, player_count, max_players, heartbeat_at, interval_seconds, live_until,
       is_counted, cursor)`,
    `${guild}, 's' || n, 1, 1, 1, ${past}, 15, now() + interval '1 hour' - n * interval '1 minute', n < 60, n`,
  );
  await fill(
    'guilds (guild_id, live_servers, last_place)',
    `CASE WHEN n <= 100 THEN ${guild} ELSE (800000000000000000 + n)::text END, 1, ${ROWS}`,
  );
  await fill(
    `commands (guild_id, server_id, event_id, type, payload, created_at, expires_at, acked_at, live_at, servers,
       request_key, request_hash)`,
    `${guild}, CASE WHEN n % 400 < 300 THEN '' ELSE 's' || n % 5000 END,
     CASE WHEN n % 2 = 0 THEN gen_random_uuid() END, 'ban', '{}', ${past}, ${past} + interval '2 minutes',
     CASE WHEN n % 3 > 0 AND n % 400 >= 300 THEN ${past} END, ${past}, 10, CASE WHEN n % 5 = 0 THEN n::text END, ''`,
    ROWS,
  );
  await fill(
    'deliveries (guild_id, command_id, server_id, expires_at, attempt, acked_at)',
    `${guild}, gen_random_uuid(), 's' || n % 5000, ${past} + interval '2 minutes', 1, CASE WHEN n % 3 > 0 THEN ${past} END`,
    ROWS,
  );
  await fill('daily_counts', `${guild}, 'actions', date_trunc('day', now(), 'UTC') - n * interval '1 day', 1`);
  await fill(
    'sessions (guild_id, session_id, game_id, place_id, server_id, started_at, beat_at, ended_at)',
    `${guild}, gen_random_uuid(), n, 1, 's', ${past}, ${past}, CASE WHEN n % 10 > 0 THEN ${past} END`,
    ROWS,
  );
  await fill(
    'actions (guild_id, action_id, actor_game_id, action_type, occurred_at, created_at)',
    `${guild}, gen_random_uuid(), 1, 'kick', ${past}, ${past}`,
    ROWS,
  );
  await fill('staff_roles', `${guild}, (910000000000000000 + n)::text, n % 11, 'x', '{}', ${past}`);
  await fill(
    'idempotency (guild_id, method, path, key, body_hash, created_at)',
    `${guild}, 'POST', '/x', n::text, '', ${past}`,
  );
  const tables = await databaseRows<{ name: string }>(
    url,
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'activity'`,
  );
  for (const { name } of tables) await databaseRows(url, `VACUUM ANALYZE activity.${name}`);
}
