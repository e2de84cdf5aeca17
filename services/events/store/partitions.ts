import { DatabaseError } from 'pg';
import { guildStatement, inDueGuilds } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';

const CHECK_VIOLATION = '23514';
const BATCH = 1_000;

/**
 * True if a row could not be stored because no partition exists for its day. Citus passes on only the message of the node that
 * has the row, not the routine.
 */
export function isMissingPartition(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || error.code !== CHECK_VIOLATION) return false;
  return error.routine === 'ExecFindPartition' || error.message.startsWith('no partition of relation');
}

/**
 * Creates the missing partitions of a table: for today (UTC), for the `days` days after it, and for the day of the newest
 * event of each guild in `guildIds`. That day is later than the others if the clock was set back. Returns the number of
 * created partitions.
 */
export async function createPartitions(
  on: Queryable,
  table: string,
  days: number,
  guildIds: readonly string[] = [],
): Promise<number> {
  // A separate statement, because Citus rejects CREATE TABLE in a transaction that has read shards over several connections.
  const counters = 'SELECT day::text FROM events.counters WHERE guild_id = ANY($1::text[])';
  const newest = guildIds.length === 0 ? [] : await on.query<{ day: string }>(counters, [guildIds]);
  const rows = await on.query<{ created: boolean }>(
    `SELECT events.create_partition($1, day::date) AS created FROM (
       SELECT generate_series(today, today + $2::int, '1 day') AS day
       FROM (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS today) AS now
       UNION SELECT unnest($3::date[])
     ) AS wanted
     WHERE to_regclass('events.' || $1 || '_' || to_char(day, 'YYYYMMDD')) IS NULL ORDER BY day`,
    [table, days, newest.map(({ day }) => day)],
  );
  return rows.filter(({ created }) => created).length;
}

/** Drops the oldest partition whose rows are all older than `seconds`. Returns its name; undefined if there is none. */
export async function dropExpiredPartition(on: Queryable, table: string, seconds: number): Promise<string | undefined> {
  const [row] = await on.query<{ name: string | null }>(
    `SELECT events.drop_partition($1, (clock_timestamp() AT TIME ZONE 'UTC' - $2 * interval '1 second')::date) AS name`,
    [table, seconds],
  );
  return row?.name ?? undefined;
}

const IS_FORGOTTEN = `day < (SELECT (clock_timestamp() AT TIME ZONE 'UTC' - $1 * interval '1 second')::date)`;

const FORGET_DAYS = guildStatement(
  1,
  (andGuild) => `WITH due AS MATERIALIZED (
     SELECT guild_id, day FROM events.days WHERE ${IS_FORGOTTEN} ${andGuild('days')}
     LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
   )
   DELETE FROM events.days WHERE (guild_id, day) IN (SELECT guild_id, day FROM due) ${andGuild('days')} RETURNING 1`,
);

/**
 * Deletes up to 1,000 rows of days whose events are all older than `seconds`: readers no longer get these events.
 * Returns true if there may be more.
 */
export async function forgetExpiredDays(on: Queryable, seconds: number): Promise<boolean> {
  const due = { table: 'events.days', condition: IS_FORGOTTEN, order: 'day', values: [seconds], limit: BATCH };
  const rows = await inDueGuilds(on, due, (run) => run(FORGET_DAYS, [seconds]));
  return rows.length >= BATCH;
}

/** Returns the number of partitions of a table and their size in bytes, with indexes. */
export async function partitionStats(on: Queryable, table: string): Promise<{ partitions: number; bytes: number }> {
  const [row] = await on.query<{ partitions: number; bytes: number }>(
    `SELECT count(*) AS partitions, coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint AS bytes
     FROM pg_inherits WHERE inhparent = to_regclass('events.' || $1)`,
    [table],
  );
  return row ?? { partitions: 0, bytes: 0 };
}
