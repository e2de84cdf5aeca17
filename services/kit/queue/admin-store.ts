import type { Queryable } from '../postgres/pool.ts';
import { type Columns, columnsOf } from './columns.ts';
import type { AdministeredQueue } from './definition.ts';

export interface ListedItem {
  guildId: string;
  id: string;
  /** `queued`, `leased` or `dead`. */
  state: string;
  attempts: number;
  runAt: Date;
  queuedAt: Date;
  lastError: string | null;
}

/** A place in a queue's list, which is ordered by guild and ID. */
export interface ItemPosition {
  guildId: string;
  id: string;
}

export interface ItemFilter {
  guildId?: string | undefined;
  /** Only dead letters, else only what is waiting or in flight, else both. */
  state?: 'dead' | 'queued' | undefined;
}

/** Below every ID of a type. */
const FIRST = { bigint: '0', uuid: '00000000-0000-0000-0000-000000000000', text: '' } as const;

/** What operators do with the items of one queue. */
export class QueueAdminStore {
  readonly #database: Queryable;
  readonly #definition: AdministeredQueue;
  readonly #columns: Columns;

  constructor(database: Queryable, definition: AdministeredQueue) {
    this.#database = database;
    this.#definition = definition;
    this.#columns = columnsOf(definition.table);
  }

  /** Up to `limit` items that are not finished, past a position. */
  list(filter: ItemFilter, after: ItemPosition | undefined, limit: number): Promise<ListedItem[]> {
    const { table, id, idType, runAt, attempts } = this.#columns;
    const { conditions, values } = this.#conditions(filter);
    const place = (value: unknown) => `$${values.push(value)}`;
    const start = after ?? { guildId: '', id: FIRST[this.#definition.table.idType] };
    conditions.push(`(guild_id, ${id}) > (${place(start.guildId)}, ${place(start.id)}::${idType})`);
    return this.#database.query(
      `SELECT guild_id AS "guildId", ${id}::text AS id, ${attempts} AS attempts, ${runAt} AS "runAt",
         queued_at AS "queuedAt", last_error AS "lastError",
         CASE WHEN state = 'queued' AND leased_until > clock_timestamp() THEN 'leased' ELSE state END AS state
       FROM ${table} WHERE ${conditions.join(' AND ')} ORDER BY guild_id, ${id} LIMIT ${place(limit)}`,
      values,
    );
  }

  /** The database's time, in Unix milliseconds. */
  async now(): Promise<number> {
    const [row] = await this.#database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return row?.now.getTime() ?? 0;
  }

  /** Up to `limit` dead letters queued before a time are queued again, with all of their attempts; how many. */
  async retryDead(guildId: string | undefined, queuedBeforeMs: number, limit: number): Promise<number> {
    const { table, id } = this.#columns;
    const { conditions, values } = this.#conditions({ guildId, state: 'dead' });
    conditions.push(`queued_at <= to_timestamp($${values.push(queuedBeforeMs)}::float8 / 1000)`);
    const retried = await this.#database.query(
      `UPDATE ${table} SET ${this.#requeue} WHERE (guild_id, ${id}) IN (
         SELECT guild_id, ${id} FROM ${table} WHERE ${conditions.join(' AND ')}
         ORDER BY guild_id, ${id} LIMIT $${values.push(limit)}) AND state = 'dead' RETURNING 1`,
      values,
    );
    return retried.length;
  }

  /** A dead letter, or an item that waits for its next attempt, is due; false when there is none or it is in flight. */
  async retry({ guildId, id }: ItemPosition): Promise<boolean> {
    const retried = await this.#database.query(
      `UPDATE ${this.#columns.table} SET ${this.#requeue} WHERE ${this.#idle} RETURNING 1`,
      [guildId, id],
    );
    return retried.length > 0;
  }

  /** Discards an item; false when there is none or it is in flight. */
  async skip(transaction: Queryable, { guildId, id }: ItemPosition): Promise<boolean> {
    const { table, finishedAt } = this.#columns;
    const skipped = await transaction.query(
      `UPDATE ${table} SET state = 'skipped', leased_until = NULL, ${finishedAt} = clock_timestamp()
       WHERE ${this.#idle} RETURNING 1`,
      [guildId, id],
    );
    if (skipped.length > 0) await this.#definition.skipped?.(transaction, { guildId, id });
    return skipped.length > 0;
  }

  /**
   * An item that comes back may be its guild's new head while a later one is in flight. In an ordered queue it is due
   * one lease later: whatever was in flight has ended by then, so that there is one at a time.
   */
  get #requeue(): string {
    const { runAt, attempts } = this.#columns;
    const delay = this.#definition.ordered ? this.#definition.leaseMs : 0;
    return `${attempts} = 0, leased_until = NULL, queued_at = clock_timestamp(),
      ${runAt} = clock_timestamp() + CASE WHEN state = 'dead' THEN ${delay} ELSE 0 END * interval '1 millisecond',
      state = 'queued'`;
  }

  /** The item of the first two parameters, unless it is finished or in flight. */
  get #idle(): string {
    const { id, idType, finishedAt } = this.#columns;
    return `guild_id = $1 AND ${id} = $2::${idType} AND ${finishedAt} IS NULL AND state IN ('queued', 'dead')
      AND (leased_until IS NULL OR leased_until <= clock_timestamp())`;
  }

  #conditions({ guildId, state }: ItemFilter): { conditions: string[]; values: unknown[] } {
    const { finishedAt, open } = this.#columns;
    const conditions = [
      { dead: `${finishedAt} IS NULL AND state = 'dead'`, queued: open, all: `${finishedAt} IS NULL` }[state ?? 'all'],
    ];
    const values: unknown[] = [];
    if (guildId !== undefined) conditions.push(`guild_id = $${values.push(guildId)}`);
    return { conditions, values };
  }
}
