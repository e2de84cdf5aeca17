import { ApiError } from '../errors.ts';
import { type Database, isUniqueViolation, type Transaction } from '../postgres/pool.ts';
import { type Columns, columnsOf } from './columns.ts';
import type { AdministeredQueue, ItemKey } from './definition.ts';

export interface ListedItem extends ItemKey {
  /** The state of the item: `queued`, `leased` (in flight) or `dead` (a dead letter). */
  state: string;
  attempts: number;
  runAt: Date;
  queuedAt: Date;
  lastError: string | null;
}

export interface ItemFilter {
  guildId?: string | undefined;
  /**
   * Filters by state: `dead` lists only dead letters, `queued` only items that wait or are in flight; unset lists both.
   */
  state?: 'dead' | 'queued' | undefined;
}

/**
 * For each type of ID column, a value that sorts before every item's ID; used as the position of the first page of a
 * list.
 */
const FIRST = { bigint: '0', uuid: '00000000-0000-0000-0000-000000000000', text: '' } as const;

/** Lists, retries and discards the items of one queue for operators. */
export class QueueAdminStore {
  readonly #database: Database;
  readonly #definition: AdministeredQueue;
  readonly #columns: Columns;

  constructor(database: Database, definition: AdministeredQueue) {
    this.#database = database;
    this.#definition = definition;
    this.#columns = columnsOf(definition.table);
  }

  /** Returns up to `limit` unfinished items after a position, ordered by guild and item ID. */
  list(filter: ItemFilter, after: ItemKey | undefined, limit: number): Promise<ListedItem[]> {
    const { table, id, idType, runAt, attempts, dead } = this.#columns;
    const { conditions, values } = this.#conditions(filter);
    const parameter = (value: unknown) => `$${values.push(value)}`;
    const start = after ?? { guildId: '', id: FIRST[this.#definition.table.idType] };
    conditions.push(`(guild_id, ${id}) > (${parameter(start.guildId)}, ${parameter(start.id)}::${idType})`);
    return this.#database.query(
      `SELECT guild_id AS "guildId", ${id}::text AS id, ${attempts} AS attempts, ${runAt} AS "runAt",
         queued_at AS "queuedAt", last_error AS "lastError",
         CASE WHEN ${dead} THEN 'dead' WHEN leased_until > clock_timestamp() THEN 'leased' ELSE 'queued' END AS state
       FROM ${table} WHERE ${conditions.join(' AND ')} ORDER BY guild_id, ${id} LIMIT ${parameter(limit)}`,
      values,
    );
  }

  /**
   * Returns the database's current time in Unix milliseconds, rounded up, so that `retryDead` with this time includes
   * everything that is stored by now.
   */
  async now(): Promise<number> {
    const [row] = await this.#database.query<{ now: number }>(
      'SELECT ceil(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    );
    return row?.now ?? 0;
  }

  /**
   * Queues up to `limit` dead letters again that were queued before `queuedBeforeMs`. Returns the number of dead
   * letters found and the number queued again; the two differ if the queue's definition rejects some of them.
   */
  async retryDead(
    guildId: string | undefined,
    queuedBeforeMs: number,
    limit: number,
  ): Promise<{ found: number; retried: number }> {
    const { table, id, dead } = this.#columns;
    const { conditions, values } = this.#conditions({ guildId, state: 'dead' });
    conditions.push(`queued_at <= to_timestamp($${values.push(queuedBeforeMs)}::float8 / 1000)`);
    const items = `FROM ${table} WHERE ${conditions.join(' AND ')}
      ORDER BY guild_id, ${id} LIMIT $${values.push(limit)}`;
    if (this.#definition.retried) {
      const found = await this.#database.query<ItemKey>(
        `SELECT guild_id AS "guildId", ${id}::text AS id ${items}`,
        values,
      );
      let retried = 0;
      for (const item of found) if (await this.#retryUnlessRejected(item)) retried += 1;
      return { found: found.length, retried };
    }
    const rows = await this.#database.query(
      `UPDATE ${table} SET ${this.#requeue} FROM ${this.#clock} WHERE (guild_id, ${id}) IN (SELECT guild_id, ${id} ${items}) AND ${dead} RETURNING 1`,
      values,
    );
    return { found: rows.length, retried: rows.length };
  }

  /**
   * Makes a dead letter, or an item that waits for its next attempt, due immediately. Returns false if there is no such
   * item or the item is in flight. Throws CONFLICT if the queue's definition rejects the retry.
   */
  retry({ guildId, id }: ItemKey): Promise<boolean> {
    return this.#database.transaction(async (transaction) => {
      await this.#definition.retrying?.(transaction, { guildId, id });
      const retried = await transaction.query(
        `UPDATE ${this.#columns.table} SET ${this.#requeue} FROM ${this.#clock} WHERE ${this.#idle} RETURNING 1`,
        [guildId, id],
      );
      if (retried.length > 0) await this.#definition.retried?.(transaction, { guildId, id });
      return retried.length > 0;
    });
  }

  /** Discards an item. Returns false if there is no such item or the item is in flight. */
  async skip(transaction: Transaction, { guildId, id }: ItemKey): Promise<boolean> {
    const { table, state, finishedAt, unleased } = this.#columns;
    const skipped = await transaction.query(
      `UPDATE ${table}
       SET ${state} = 'skipped', ${unleased}, ${finishedAt} = coalesce(${finishedAt}, now)
       FROM (SELECT clock_timestamp() AS now) AS clock
       WHERE ${this.#idle} RETURNING 1`,
      [guildId, id],
    );
    if (skipped.length > 0) await this.#definition.skipped?.(transaction, { guildId, id });
    return skipped.length > 0;
  }

  async #retryUnlessRejected(item: ItemKey): Promise<boolean> {
    try {
      return await this.retry(item);
    } catch (error) {
      if (isUniqueViolation(error) || (error instanceof ApiError && error.code === 'CONFLICT')) return false;
      throw error;
    }
  }

  /**
   * The SQL assignments that queue an item again. In an ordered queue a retried dead letter may be its guild's oldest
   * item while a later item is in flight. The dead letter becomes due after one lease: by then that attempt has ended,
   * so only one item of the guild is handled at a time.
   */
  get #requeue(): string {
    const { state, runAt, attempts, dead, unleased } = this.#columns;
    return `${attempts} = 0, ${unleased}, queued_at = clock_timestamp(),
      ${runAt} = CASE WHEN ${dead} THEN delayed ELSE now END,
      ${state} = 'queued'`;
  }

  /** The times that `#requeue` uses, as a table. */
  get #clock(): string {
    const { ordered, leaseMs } = this.#definition;
    const delay = ordered ? leaseMs : 0;
    return `(SELECT clock_timestamp() AS now, clock_timestamp() + ${delay} * interval '1 millisecond' AS delayed) AS clock`;
  }

  /** An SQL condition for the item with guild $1 and ID $2, unless the item is finished or in flight. */
  get #idle(): string {
    const { id, idType, open, dead } = this.#columns;
    return `guild_id = $1 AND ${id} = $2::${idType} AND ((${open}) OR (${dead}))
      AND (leased_until IS NULL OR leased_until <= clock_timestamp())`;
  }

  #conditions({ guildId, state }: ItemFilter): { conditions: string[]; values: unknown[] } {
    const { open, dead, unfinished } = this.#columns;
    const conditions = [{ dead, queued: open, all: unfinished }[state ?? 'all']];
    const values: unknown[] = [];
    if (guildId !== undefined) conditions.push(`guild_id = $${values.push(guildId)}`);
    return { conditions, values };
  }
}
