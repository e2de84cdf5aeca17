import { randomUUID } from 'node:crypto';
import { byGuild, guildOf } from '../postgres/by-guild.ts';
import { isUniqueViolation, type Prepared, type Queryable } from '../postgres/pool.ts';
import type { ItemKey, QueueLimits, QueueStats, QueueTable, TakenItem } from './definition.ts';
import { MAX_READ, type QueueStatements, statementsOf } from './statements.ts';

/** The oldest item of a guild in an ordered queue that is not finished or dead. */
export interface Head extends ItemKey {
  isDue: boolean;
}

/** The IDs of the due items of a guild. */
export interface GuildItems {
  guildId: string;
  ids: string[];
}

export interface Failure extends QueueLimits {
  /** The error of the failed attempt, as `CODE: message`. */
  error: string;
  /** If true, the item becomes a dead letter, regardless of its number of attempts. */
  isPermanent: boolean;
  /** If true, the failed attempt counts towards `maxAttempts`. */
  counts: boolean;
  delayMs: number;
}

/** A page of the guilds with open items. */
export interface GuildPage<Guild> {
  guilds: Guild[];
  /** False if guilds with open items may follow those of the page. */
  isLast: boolean;
}

type TakenRow = Record<string, unknown> & Omit<TakenItem, 'data'>;

/** Reads and changes the rows of a queue for a worker. All times are by the database's clock. */
export class QueueStore {
  readonly #database: Queryable;
  readonly #table: QueueTable;
  readonly #statements: QueueStatements;

  constructor(database: Queryable, table: QueueTable, statements = statementsOf(table)) {
    this.#database = database;
    this.#table = table;
    this.#statements = statements;
  }

  /** Returns a store for the same queue that runs its statements in a transaction. */
  in(transaction: Queryable): QueueStore {
    return new QueueStore(transaction, this.#table, this.#statements);
  }

  /** Returns the oldest open item of each of up to `limit` guilds after a guild. Reads at most MAX_READ rows. */
  async heads(afterGuildId: string, limit: number): Promise<GuildPage<Head>> {
    return pageOf(await this.#database.query<Head>(this.#statements.heads, [afterGuildId]), limit);
  }

  /** Returns up to `limit` guilds after a guild that have open items. Reads at most MAX_READ rows. */
  async guilds(afterGuildId: string, limit: number): Promise<GuildPage<{ guildId: string }>> {
    return pageOf(await this.#database.query<{ guildId: string }>(this.#statements.guilds, [afterGuildId]), limit);
  }

  /**
   * Returns up to `perGuild` due items of each guild; another process may take these items first. Needs one index lookup
   * per guild, however long the guilds' queues are.
   */
  due(guildIds: readonly string[], perGuild: number): Promise<GuildItems[]> {
    return byGuild(
      this.#database,
      guildIds,
      (guildId) => guildId,
      (ids, guildId) => this.#database.query<GuildItems>(this.#statements.due, [ids, perGuild, guildId]),
    );
  }

  /**
   * Leases an item, or without an item ID the guild's oldest item. Returns undefined if the item is not due or another
   * process has it.
   */
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
      // Another process leased another item of the same guild at the same moment.
      if (oneLeasedPerGuild !== undefined && isUniqueViolation(error, oneLeasedPerGuild)) return undefined;
      throw error;
    }
  }

  /** Leases those of some items that are due, and not leased by another process. */
  async takeHeads(heads: readonly ItemKey[], leaseMs: number): Promise<TakenItem[]> {
    const rows = await byGuild(this.#database, heads, guildOf, (items, guildId) =>
      this.#database.query<TakenRow>(this.#statements.takeHeads, [
        items.map((item) => item.guildId),
        items.map(({ id }) => id),
        leaseMs,
        guildId,
      ]),
    );
    return rows.map(itemOf);
  }

  /** Extends the item's lease. Returns false if the lease was lost. */
  renew(item: TakenItem, leaseMs: number): Promise<boolean> {
    return this.#change(this.#statements.renew, item, leaseMs);
  }

  /** Marks the item as done. Returns false if the lease was lost. */
  finish(item: TakenItem): Promise<boolean> {
    return this.#change(this.#statements.finish, item);
  }

  /** Deletes the row of an item that is done. Returns false if the lease was lost. */
  delete(item: TakenItem): Promise<boolean> {
    return this.#change(this.#statements.delete, item);
  }

  /** Makes the item due immediately, without counting this attempt. Returns false if the lease was lost. */
  release(item: TakenItem): Promise<boolean> {
    return this.#change(this.#statements.release, item);
  }

  /** Records a failed attempt. Returns the item's new state, or undefined if the lease was lost. */
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

/** Reduces rows, ordered by guild, to the first row of each of up to `limit` guilds. */
function pageOf<Guild extends { guildId: string }>(rows: readonly Guild[], limit: number): GuildPage<Guild> {
  const guilds = rows.filter(({ guildId }, index) => guildId !== rows[index - 1]?.guildId);
  return { guilds: guilds.slice(0, limit), isLast: rows.length < MAX_READ && guilds.length <= limit };
}

/** Returns a key that identifies an item among the items of all guilds of a queue. */
export const itemKey = ({ guildId, id }: ItemKey) => `${guildId} ${id}`;
