import { randomUUID } from 'node:crypto';
import { byGuild, guildOf } from '../postgres/citus/by-guild.ts';
import { isUniqueViolation, type Prepared, type Queryable } from '../postgres/pool.ts';
import type { ItemKey, QueueLimits, QueueStats, QueueTable, TakenItem } from './definition.ts';
import { OPEN_READ, type QueueStatements, statementsOf } from './statements.ts';

/** A guild of an ordered queue that has items which are not finished or dead. */
export interface Head {
  guildId: string;
  /** Whether the oldest of the items is due. */
  isDue: boolean;
}

/** With Citus: an item that is not finished or dead. */
interface OpenItem extends Head {
  id: string;
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

interface HeadRow extends Omit<TakenItem, 'data' | 'guildId'> {
  /** Null in the only row if no item was leased. */
  guildId: string | null;
  reached: string | null;
  isLast: boolean;
}

/** The number of guilds that are looked at for each item to lease, because some items are leased or wait for a retry. */
const HEADS_PER_ITEM = 2;

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

  /**
   * Returns up to `limit` guilds after a guild that have open items. Needs one index lookup per guild, however long the guilds' queues
   * are; with Citus it reads the items in pages.
   */
  async heads(afterGuildId: string, limit: number): Promise<Head[]> {
    if (await this.#database.isDistributed?.()) {
      const heads = await this.#openHeads(afterGuildId, limit);
      return heads.map(({ guildId, isDue }) => ({ guildId, isDue }));
    }
    return this.#database.query(this.#statements.heads, [afterGuildId, limit]);
  }

  /** With Citus: the oldest open item of each guild. Reads pages of open items until they belong to `limit` guilds or no items are left. */
  async #openHeads(afterGuildId: string, limit: number): Promise<OpenItem[]> {
    const heads: OpenItem[] = [];
    let reached = afterGuildId;
    for (let isLast = false; !isLast && heads.length < limit; ) {
      const items = await this.#database.query<OpenItem>(this.#statements.open, [reached]);
      heads.push(...items.filter(({ guildId }, index) => guildId !== items[index - 1]?.guildId));
      reached = items.at(-1)?.guildId ?? reached;
      isLast = items.length < OPEN_READ;
    }
    return heads.slice(0, limit);
  }

  /**
   * Returns up to `limit` guilds after a guild that have open items, with up to `perGuild` due items of each; another
   * process may take these items first. Needs two index lookups per guild, however long the guilds' queues are.
   */
  async due(afterGuildId: string, limit: number, perGuild: number): Promise<GuildItems[]> {
    if (await this.#database.isDistributed?.()) {
      const heads = await this.#openHeads(afterGuildId, limit);
      return byGuild(this.#database, heads, guildOf, async ([head]) => {
        const { guildId } = head as OpenItem;
        const items = await this.#database.query<{ id: string }>(this.#statements.dueOf, [guildId, perGuild]);
        return [{ guildId, ids: items.map(({ id }) => id) }];
      });
    }
    return this.#database.query(this.#statements.due, [afterGuildId, limit, perGuild]);
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

  /**
   * Leases the oldest items of up to `limit` guilds after a guild that are due. `reached` is the last guild that was
   * looked at; undefined if there are no guilds with open items after it.
   */
  async takeHeads(
    afterGuildId: string,
    limit: number,
    leaseMs: number,
  ): Promise<{ items: TakenItem[]; reached: string | undefined }> {
    if (await this.#database.isDistributed?.()) return this.#takeOpenHeads(afterGuildId, limit, leaseMs);
    const rows = await this.#database.query<HeadRow>(this.#statements.takeHeads, [
      afterGuildId,
      leaseMs,
      HEADS_PER_ITEM * limit,
      limit,
    ]);
    const [walk] = rows;
    const items = rows.flatMap(({ guildId, id, attempts, lease }) =>
      guildId === null ? [] : [{ guildId, id, attempts, lease, data: {} }],
    );
    return { items, reached: walk && !walk.isLast ? (walk.reached ?? undefined) : undefined };
  }

  /** `takeHeads` with Citus: leases each item with a statement of its own. */
  async #takeOpenHeads(
    afterGuildId: string,
    limit: number,
    leaseMs: number,
  ): Promise<{ items: TakenItem[]; reached: string | undefined }> {
    const heads = await this.#openHeads(afterGuildId, limit);
    const items = await byGuild(this.#database, heads, guildOf, async ([head]) => {
      const { guildId, id, isDue } = head as OpenItem;
      const item = isDue ? await this.take(guildId, id, leaseMs) : undefined;
      return item ? [item] : [];
    });
    return { items, reached: heads.length === limit ? heads.at(-1)?.guildId : undefined };
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

/** Returns a key that identifies an item among the items of all guilds of a queue. */
export const itemKey = ({ guildId, id }: ItemKey) => `${guildId} ${id}`;
