import { type Prepared, prepared } from '../postgres/pool.ts';
import { columnsOf } from './columns.ts';
import type { QueueTable } from './definition.ts';

/**
 * The maximum number of items that a count for the metrics reads, so that a long queue does not make the count slow.
 */
const MAX_COUNTED = 10_000;
/** The maximum number of items that one `open` reads; all of them may be of one guild. */
export const OPEN_READ = 500;
/**
 * The database's time as a subquery. PostgreSQL cannot use an index for a comparison with the bare clock_timestamp(),
 * which is VOLATILE.
 */
const NOW = '(SELECT clock_timestamp())';
const IS_FREE = `(leased_until IS NULL OR leased_until <= ${NOW})`;

/**
 * The SQL statements with which a worker reads and changes one queue table. Each statement that writes changes one row
 * of one guild.
 */
export interface QueueStatements {
  /** Selects the oldest open item of each of $2 guilds after the guild $1. */
  heads: string;
  /** Selects up to $3 due items of each of $2 guilds after the guild $1. */
  due: string;
  /**
   * With Citus, where no statement can visit the guilds of all nodes one after the other: `open` selects up to OPEN_READ
   * open items of the guilds after the guild $1, in the order of guilds and items. `dueOf` selects up to $2 due items of
   * the guild $1.
   */
  open: string;
  dueOf: string;
  /**
   * `takeHead` leases the oldest item of the guild $1, `takeItem` its item $4, for $2 milliseconds. $3 is a new UUID
   * for the lease.
   */
  takeHead: Prepared;
  /**
   * Reads the oldest open items of up to $3 guilds after the guild $1, and leases up to $4 of those that are due, for $2
   * milliseconds. `isLast` is true if no guild with open items follows.
   */
  takeHeads: Prepared;
  takeItem: Prepared;
  /** `renew`, `finish`, `delete`, `release` and `fail` change the item $2 of the guild $1 while its lease is $3. */
  renew: Prepared;
  finish: Prepared;
  delete: Prepared;
  release: Prepared;
  fail: Prepared;
  stats: string;
}

export function statementsOf(queueTable: QueueTable): QueueStatements {
  const { data, join = '', holder, oneLeasedPerGuild, waitingSince = 'queued_at' } = queueTable;
  const { table, id, idType, state, runAt, attempts, finishedAt, open, dead, lease, leaseType, unleased } =
    columnsOf(queueTable);
  const held = `guild_id = $1 AND ${id} = $2::${idType} AND ${lease} = $3::${leaseType} AND ${open}`;

  const nextHead = (after: string) =>
    `SELECT guild_id, ${id} AS id, ${runAt} AS run_at, leased_until FROM ${table} WHERE ${open} AND guild_id > ${after}
     ORDER BY guild_id, ${id} LIMIT 1`;
  const nextGuild = (after: string) =>
    `SELECT guild_id FROM ${table} WHERE ${open} AND guild_id > ${after} ORDER BY guild_id LIMIT 1`;
  const isOnlyLeased =
    oneLeasedPerGuild === undefined
      ? ''
      : `AND NOT EXISTS (
           SELECT FROM ${table} other
           WHERE other.guild_id = item.guild_id AND other.${holder} IS NOT NULL AND other.${finishedAt} IS NULL
             AND other.${id} <> item.${id})`;

  const due = (guildId: string, limit: string) =>
    `SELECT item.${id}::text AS id FROM ${table} item
     WHERE item.guild_id = ${guildId} AND ${open} AND ${runAt} <= ${NOW} AND ${IS_FREE} ${isOnlyLeased}
     ORDER BY ${runAt} LIMIT ${limit}`;

  const leaseEnd = `clock_timestamp() + $2::float8 * interval '1 millisecond'`;
  // Tables without a `holder` column get $3 too, so that the statements have the same parameters for all tables.
  const holds = holder === undefined ? '' : `, ${holder} = $3::uuid`;
  const take = (chosen: string) =>
    prepared(`WITH chosen AS MATERIALIZED (${chosen}), taken AS (
      UPDATE ${table} item
      SET ${attempts} = ${attempts} + 1, ${runAt} = ${leaseEnd}, leased_until = ${leaseEnd}${holds}
      FROM chosen
      WHERE guild_id = $1 AND $3::uuid IS NOT NULL AND item.${id} = chosen.id AND ${open}
        AND ${runAt} <= clock_timestamp() AND ${IS_FREE} ${isOnlyLeased}
      RETURNING item.*
    )
    SELECT taken.guild_id AS "guildId", taken.${id}::text AS id, taken.${attempts} AS attempts,
      taken.${lease}::text AS lease${data === undefined ? '' : `, ${data}`}
    FROM taken ${join}`);

  const walkHeads = `heads AS (
      (${nextHead('$1')})
      UNION ALL
      SELECT next.* FROM heads, LATERAL (${nextHead('heads.guild_id')}) next
    )`;

  const count = (condition: string) =>
    `(SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${condition} LIMIT ${MAX_COUNTED}) AS counted)::int`;

  return {
    heads: `WITH RECURSIVE ${walkHeads}
      SELECT guild_id AS "guildId", run_at <= clock_timestamp() AND ${IS_FREE} AS "isDue" FROM heads LIMIT $2`,
    due: `WITH RECURSIVE guilds AS (
        (${nextGuild('$1')})
        UNION ALL
        SELECT next.guild_id FROM guilds, LATERAL (${nextGuild('guilds.guild_id')}) next
      ), page AS (SELECT guild_id FROM guilds LIMIT $2)
      SELECT page.guild_id AS "guildId", ARRAY(${due('page.guild_id', '$3')}) AS ids FROM page`,
    open: `SELECT guild_id AS "guildId", ${id}::text AS id, ${runAt} <= clock_timestamp() AND ${IS_FREE} AS "isDue"
      FROM ${table} WHERE ${open} AND guild_id > $1 ORDER BY guild_id, ${table}.${id} LIMIT ${OPEN_READ}`,
    dueOf: due('$1', '$2'),
    takeHead: take(`SELECT ${id} AS id FROM ${table} WHERE guild_id = $1 AND ${open} ORDER BY ${id} LIMIT 1`),
    // An item that another transaction takes or deletes at the same moment is skipped: its guild is being handled. LATERAL
    // with a limit reads one item at a time, whatever the statistics of a table that is often empty suggest.
    takeHeads: prepared(`WITH RECURSIVE ${walkHeads}, page AS MATERIALIZED (
        SELECT guild_id, id FROM heads LIMIT $3
      ), due AS MATERIALIZED (
        SELECT item.* FROM page, LATERAL (
          SELECT guild_id, ${id} AS id FROM ${table}
          WHERE guild_id = page.guild_id AND ${id} = page.id AND ${open} AND ${runAt} <= ${NOW} AND ${IS_FREE}
          LIMIT 1 FOR UPDATE SKIP LOCKED) AS item
        LIMIT $4
      ), taken AS (
        UPDATE ${table} item
        SET ${attempts} = ${attempts} + 1, ${runAt} = ${leaseEnd}, leased_until = ${leaseEnd}
        FROM due WHERE item.guild_id = due.guild_id AND item.${id} = due.id
        RETURNING item.guild_id, item.${id}, item.${attempts}, item.${lease}
      )
      SELECT taken.guild_id AS "guildId", taken.${id}::text AS id, taken.${attempts} AS attempts,
        taken.${lease}::text AS lease, reached, "isLast"
      FROM (
        SELECT CASE WHEN (SELECT count(*) FROM due) = $4 THEN (SELECT max(guild_id) FROM due)
          ELSE max(page.guild_id) END AS reached,
          count(*) < $3 AND (SELECT count(*) FROM due) < $4 AS "isLast" FROM page
      ) AS walk LEFT JOIN taken ON true`),
    takeItem: take(`SELECT $4::${idType} AS id`),
    // A lease renewal writes no indexed column, so it is a HOT update without new index entries.
    renew: prepared(
      `UPDATE ${table} SET leased_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
       WHERE ${held} RETURNING 1`,
    ),
    finish: prepared(
      `UPDATE ${table} SET ${state} = 'done', ${unleased}, ${finishedAt} = clock_timestamp() WHERE ${held} RETURNING 1`,
    ),
    delete: prepared(`DELETE FROM ${table} WHERE ${held} RETURNING 1`),
    release: prepared(
      `UPDATE ${table} SET ${unleased}, ${attempts} = ${attempts} - 1, ${runAt} = clock_timestamp()
       WHERE ${held} RETURNING 1`,
    ),
    fail: prepared(
      `UPDATE ${table} SET ${unleased}, last_error = $4::text,
         ${attempts} = ${attempts} - CASE WHEN $5::boolean THEN 0 ELSE 1 END,
         ${runAt} = clock_timestamp() + $6::float8 * interval '1 millisecond',
         ${state} = CASE WHEN $7::boolean OR ($5::boolean AND ${attempts} >= $8::int)
           OR ${waitingSince} <= latest THEN 'dead' ELSE 'queued' END
       FROM (SELECT clock_timestamp() - $9::float8 * interval '1 second' AS latest) AS clock
       WHERE ${held} RETURNING ${state} AS state`,
    ),
    stats: `SELECT ${count(open)} AS queued, ${count(dead)} AS dead,
      (SELECT extract(epoch FROM clock_timestamp() - queued_at)::float8 FROM ${table}
       WHERE ${open} ORDER BY queued_at LIMIT 1) AS "oldestSeconds"`,
  };
}
