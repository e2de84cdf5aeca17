import { onlyGuild } from '../postgres/by-guild.ts';
import { type Prepared, prepared } from '../postgres/pool.ts';
import { columnsOf } from './columns.ts';
import type { QueueTable } from './definition.ts';

/**
 * The maximum number of items that a count for the metrics reads, so that a long queue does not make the count slow.
 */
const MAX_COUNTED = 10_000;
/** The maximum number of open items that are read to find a page of guilds; a guild may have all of them. */
export const MAX_READ = 500;
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
  /**
   * `heads` selects the guilds and IDs of up to MAX_READ open items of the guilds after the guild $1, in the order of
   * both; `guilds` only their guilds, in any order within a guild.
   */
  heads: string;
  guilds: string;
  /** Selects up to $2 due items of each guild of the array $1; $3 is for `onlyGuild`. */
  due: string;
  /**
   * `takeHead` leases the oldest item of the guild $1, `takeItem` its item $4, for $2 milliseconds. $3 is a new UUID
   * for the lease.
   */
  takeHead: Prepared;
  /**
   * Leases those of the items with the guilds of the array $1 and the IDs of the array $2 that are due, for $3
   * milliseconds; $4 is for `onlyGuild`.
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

  const isOnlyLeased =
    oneLeasedPerGuild === undefined
      ? ''
      : `AND NOT EXISTS (
           SELECT FROM ${table} other
           WHERE other.guild_id = item.guild_id AND other.${holder} IS NOT NULL AND other.${finishedAt} IS NULL
             AND other.${id} <> item.${id})`;

  const endOf = (milliseconds: string) => `clock_timestamp() + ${milliseconds}::float8 * interval '1 millisecond'`;
  const leaseEnd = endOf('$2');
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

  const count = (condition: string) =>
    `(SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${condition} LIMIT ${MAX_COUNTED}) AS counted)::int`;

  return {
    heads: `SELECT guild_id AS "guildId", ${id}::text AS id, ${runAt} <= clock_timestamp() AND ${IS_FREE} AS "isDue"
      FROM ${table} WHERE ${open} AND guild_id > $1 ORDER BY guild_id, ${table}.${id} LIMIT ${MAX_READ}`,
    guilds: `SELECT guild_id AS "guildId" FROM ${table} WHERE ${open} AND guild_id > $1
      ORDER BY guild_id LIMIT ${MAX_READ}`,
    due: `SELECT page.guild_id AS "guildId", ARRAY(
        SELECT item.${id}::text FROM ${table} item
        WHERE item.guild_id = page.guild_id AND ${onlyGuild('item', 3)} AND ${open} AND ${runAt} <= ${NOW} AND ${IS_FREE}
          ${isOnlyLeased}
        ORDER BY ${runAt} LIMIT $2) AS ids
      FROM unnest($1::text[]) AS page (guild_id)`,
    takeHead: take(`SELECT ${id} AS id FROM ${table} WHERE guild_id = $1 AND ${open} ORDER BY ${id} LIMIT 1`),
    // An item that another transaction takes or deletes at the same moment is skipped: its guild is being handled. LATERAL
    // with a limit reads one item at a time, whatever the statistics of a table that is often empty suggest.
    takeHeads: prepared(`WITH due AS MATERIALIZED (
        SELECT item.* FROM unnest($1::text[], $2::${idType}[]) AS head (guild_id, id), LATERAL (
          SELECT guild_id, ${id} AS id FROM ${table} item
          WHERE guild_id = head.guild_id AND ${id} = head.id AND ${onlyGuild('item', 4)} AND ${open}
            AND ${runAt} <= ${NOW} AND ${IS_FREE}
          LIMIT 1 FOR UPDATE SKIP LOCKED) AS item
      ), taken AS (
        UPDATE ${table} item
        SET ${attempts} = ${attempts} + 1, ${runAt} = ${endOf('$3')}, leased_until = ${endOf('$3')}
        FROM due WHERE item.guild_id = due.guild_id AND item.${id} = due.id AND ${onlyGuild('item', 4)}
        RETURNING item.guild_id, item.${id}, item.${attempts}, item.${lease}
      )
      SELECT guild_id AS "guildId", ${id}::text AS id, ${attempts} AS attempts, ${lease}::text AS lease FROM taken`),
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
