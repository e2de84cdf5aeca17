import { randomUUID } from 'node:crypto';
import { isUniqueViolation, type Prepared, type Queryable } from '../postgres/pool.ts';
import type { ItemKey, QueueLimits, QueueStats, QueueTable, TakenItem } from './definition.ts';
import { type QueueStatements, statementsOf } from './statements.ts';

/** A guild's oldest open item. */
export interface Head {
  guildId: string;
  isDue: boolean;
}

/** The items of a guild that are due. */
export interface GuildItems {
  guildId: string;
  ids: string[];
}

export interface Failure extends QueueLimits {
  /** `CODE: message` */
  error: string;
  /** The item becomes a dead letter whatever its attempts. */
  isPermanent: boolean;
  /** Whether the attempt counts. */
  counts: boolean;
  delayMs: number;
}

type TakenRow = Record<string, unknown> & Omit<TakenItem, 'data'>;

/** Reads and changes the rows of a queue for a worker. All times are the database's. */
export class QueueStore {
  readonly #database: Queryable;
  readonly #table: QueueTable;
  readonly #statements: QueueStatements;

  constructor(database: Queryable, table: QueueTable, statements = statementsOf(table)) {
    this.#database = database;
    this.#table = table;
    this.#statements = statements;
  }

  /** The same store in a transaction. */
  in(transaction: Queryable): QueueStore {
    return new QueueStore(transaction, this.#table, this.#statements);
  }

  /** The heads of up to `limit` guilds after a guild: one index lookup for each, however long their queues are. */
  heads(afterGuildId: string, limit: number): Promise<Head[]> {
    return this.#database.query(this.#statements.heads, [afterGuildId, limit]);
  }

  /**
   * Up to `limit` guilds after a guild that have open items, and of each up to `perGuild` items that are due; another
   * process may take them first. Two index lookups for each guild, however long their queues are.
   */
  due(afterGuildId: string, limit: number, perGuild: number): Promise<GuildItems[]> {
    return this.#database.query(this.#statements.due, [afterGuildId, limit, perGuild]);
  }

  /** Takes an item, or a guild's head; undefined when it is not due or another process has it. */
  async take(guildId: string, itemId: string | undefined, leaseMs: number): Promise<TakenItem | undefined> {
    const { takeHead, takeItem } = this.#statements;
    const { oneLeasedPerGuild } = this.#table;
    const values = [guildId, leaseMs, randomUUID()];
    try {
      const [row] = await (itemId === undefined
        ? this.#database.query<TakenRow>(takeHead, values)
        : this.#database.query<TakenRow>(takeItem, [...values, itemId]));
      return row && itemOf(row);
    } catch (error) {
      // Another process took another item of the guild at the same moment.
      if (oneLeasedPerGuild !== undefined && isUniqueViolation(error, oneLeasedPerGuild)) return undefined;
      throw error;
    }
  }

  /** Extends the lease; false when it was lost. */
  renew(item: TakenItem, leaseMs: number): Promise<boolean> {
    return this.#change(this.#statements.renew, item, leaseMs);
  }

  /** The work is done; false when the lease was lost. */
  finish(item: TakenItem): Promise<boolean> {
    return this.#change(this.#statements.finish, item);
  }

  /** The work is done and the row is deleted; false when the lease was lost. */
  delete(item: TakenItem): Promise<boolean> {
    return this.#change(this.#statements.delete, item);
  }

  /** The item is due immediately, and this attempt does not count; false when the lease was lost. */
  release(item: TakenItem): Promise<boolean> {
    return this.#change(this.#statements.release, item);
  }

  /** Ends an attempt that failed; returns the item's new state, undefined when the lease was lost. */
  async fail(item: TakenItem, failure: Failure): Promise<'queued' | 'dead' | undefined> {
    const { error, counts, delayMs, isPermanent, maxAttempts, maxOutageSeconds } = failure;
    const [row] = await this.#database.query<{ state: 'queued' | 'dead' }>(this.#statements.fail, [
      item.guildId,
      item.id,
      item.lease,
      error,
      counts,
      delayMs,
      isPermanent,
      maxAttempts,
      maxOutageSeconds,
    ]);
    return row?.state;
  }

  async stats(): Promise<QueueStats> {
    const [row] = await this.#database.query<QueueStats>(this.#statements.stats);
    return row ?? { queued: 0, dead: 0, oldestSeconds: null };
  }

  async #change(statement: Prepared, { guildId, id, lease }: TakenItem, ...values: unknown[]): Promise<boolean> {
    return (await this.#database.query(statement, [guildId, id, lease, ...values])).length > 0;
  }
}

function itemOf({ guildId, id, attempts, lease, ...data }: TakenRow): TakenItem {
  return { guildId, id, attempts, lease, data };
}

/** Names an item among those of all guilds. */
export const itemKey = ({ guildId, id }: ItemKey) => `${guildId} ${id}`;
