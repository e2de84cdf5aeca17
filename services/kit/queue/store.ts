import type { Queryable } from '../postgres/pool.ts';
import { type Columns, columnsOf } from './columns.ts';
import type { QueueItem, QueueTable } from './definition.ts';

/** Counting stops here: a gauge needs no more, and a long queue must not make it slow. */
const MAX_COUNTED = 10_000;

/** A guild's oldest open item. */
export interface Head {
  guildId: string;
  isDue: boolean;
}

export interface Failure {
  /** `CODE: message` */
  error: string;
  /** The item becomes a dead letter whatever its attempts. */
  isPermanent: boolean;
  /** Whether the attempt counts. */
  counts: boolean;
  delayMs: number;
  maxAttempts: number;
  maxOutageSeconds: number;
}

export interface QueueStats {
  /** Open and dead items, 10,000 at most. */
  queued: number;
  dead: number;
  /** The age of the item that has been open longest; null when none is. */
  oldestSeconds: number | null;
}

interface TakenRow extends Record<string, unknown> {
  guildId: string;
  id: string;
  attempts: number;
  lease: string;
}

/** The statements of a worker. Each changes one guild's row; all times are the database's. */
export class QueueStore {
  readonly #database: Queryable;
  readonly #table: QueueTable;
  readonly #columns: Columns;

  constructor(database: Queryable, table: QueueTable) {
    this.#database = database;
    this.#table = table;
    this.#columns = columnsOf(table);
  }

  /** The heads of up to `limit` guilds after a guild: one index look-up for each, however long their queues are. */
  heads(afterGuildId: string, limit: number): Promise<Head[]> {
    const { table, id, runAt, open } = this.#columns;
    const next = (after: string) =>
      `SELECT guild_id, ${runAt} AS run_at FROM ${table} WHERE ${open} AND guild_id > ${after}
       ORDER BY guild_id, ${id} LIMIT 1`;
    return this.#database.query(
      `WITH RECURSIVE heads AS (
         (${next('$1')})
         UNION ALL
         SELECT next.* FROM heads, LATERAL (${next('heads.guild_id')}) next
       )
       SELECT guild_id AS "guildId", run_at <= clock_timestamp() AS "isDue" FROM heads LIMIT $2`,
      [afterGuildId, limit],
    );
  }

  /** Up to `limit` items that are due, of any guild; another process may take them first. */
  due(limit: number): Promise<{ guildId: string; id: string }[]> {
    const { table, id, runAt, open } = this.#columns;
    // As a subquery the time is a constant of the statement, by which an index can be searched.
    return this.#database.query(
      `SELECT guild_id AS "guildId", ${id}::text AS id FROM ${table}
       WHERE ${open} AND ${runAt} <= (SELECT clock_timestamp()) ORDER BY ${runAt} LIMIT $1`,
      [limit],
    );
  }

  /** Takes an item, or a guild's head; undefined when it is not due or another process has it. */
  async take(guildId: string, itemId: string | undefined, leaseMs: number): Promise<QueueItem | undefined> {
    const { table, id, idType, runAt, attempts, open } = this.#columns;
    const { data, join = '' } = this.#table;
    const chosen =
      itemId === undefined
        ? `SELECT ${id} AS id FROM ${table} WHERE guild_id = $1 AND ${open} ORDER BY ${id} LIMIT 1`
        : `SELECT $3::${idType} AS id`;
    const [row] = await this.#database.query<TakenRow>(
      `WITH chosen AS MATERIALIZED (${chosen}), taken AS (
         UPDATE ${table} SET ${attempts} = ${attempts} + 1,
           ${runAt} = clock_timestamp() + $2::float8 * interval '1 millisecond',
           leased_until = clock_timestamp() + $2::float8 * interval '1 millisecond'
         FROM chosen
         WHERE guild_id = $1 AND ${table}.${id} = chosen.id AND ${open} AND ${runAt} <= clock_timestamp()
         RETURNING ${table}.*
       )
       SELECT taken.guild_id AS "guildId", taken.${id}::text AS id, taken.${attempts} AS attempts,
         taken.leased_until::text AS lease${data === undefined ? '' : `, ${data}`}
       FROM taken ${join}`,
      itemId === undefined ? [guildId, leaseMs] : [guildId, leaseMs, itemId],
    );
    if (!row) return undefined;
    const { guildId: owner, id: taken, attempts: count, lease, ...rest } = row;
    return { guildId: owner, id: taken, attempts: count, lease, data: rest };
  }

  /** Extends the lease; undefined when another process has the item by now. */
  async renew(item: QueueItem, leaseMs: number): Promise<string | undefined> {
    const { table, runAt } = this.#columns;
    const [row] = await this.#database.query<{ lease: string }>(
      `UPDATE ${table} SET ${runAt} = clock_timestamp() + $4::float8 * interval '1 millisecond',
         leased_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
       WHERE ${this.#held} RETURNING leased_until::text AS lease`,
      [item.guildId, item.id, item.lease, leaseMs],
    );
    return row?.lease;
  }

  /** The work is done; without effect when another process has the item by now. */
  async finish(item: QueueItem): Promise<void> {
    const { table, finishedAt } = this.#columns;
    await this.#database.query(
      `UPDATE ${table} SET state = 'done', leased_until = NULL, ${finishedAt} = clock_timestamp() WHERE ${this.#held}`,
      [item.guildId, item.id, item.lease],
    );
  }

  /** Ends an attempt that failed; the item's state then, undefined when another process has it by now. */
  async fail(item: QueueItem, failure: Failure): Promise<'queued' | 'dead' | undefined> {
    const { table, runAt, attempts } = this.#columns;
    const [row] = await this.#database.query<{ state: 'queued' | 'dead' }>(
      `UPDATE ${table} SET leased_until = NULL, last_error = $4,
         ${attempts} = ${attempts} - CASE WHEN $5 THEN 0 ELSE 1 END,
         ${runAt} = clock_timestamp() + $6::float8 * interval '1 millisecond',
         state = CASE WHEN $7 OR ($5 AND ${attempts} >= $8)
           OR queued_at < clock_timestamp() - $9::float8 * interval '1 second' THEN 'dead' ELSE state END
       WHERE ${this.#held} RETURNING state`,
      [
        item.guildId,
        item.id,
        item.lease,
        failure.error,
        failure.counts,
        failure.delayMs,
        failure.isPermanent,
        failure.maxAttempts,
        failure.maxOutageSeconds,
      ],
    );
    return row?.state;
  }

  async stats(): Promise<QueueStats> {
    const { table, open } = this.#columns;
    const count = (condition: string) =>
      `(SELECT count(*) FROM (SELECT FROM ${table} WHERE ${condition} LIMIT ${MAX_COUNTED}) AS counted)::int`;
    const [row] = await this.#database.query<QueueStats>(
      `SELECT ${count(open)} AS queued, ${count("state = 'dead'")} AS dead,
         (SELECT extract(epoch FROM clock_timestamp() - queued_at)::float8 FROM ${table}
          WHERE ${open} ORDER BY queued_at LIMIT 1) AS "oldestSeconds"`,
    );
    return row ?? { queued: 0, dead: 0, oldestSeconds: null };
  }

  /** The item, while this process holds its lease; the first three parameters name it. */
  get #held(): string {
    const { id, idType, open } = this.#columns;
    return `guild_id = $1 AND ${id} = $2::${idType} AND leased_until = $3::timestamptz AND ${open}`;
  }
}
