import type { Queryable } from '../postgres/pool.ts';

/**
 * A table whose rows are the items of a queue. Besides `guild_id` and its ID column it has `state` ('queued', 'done',
 * 'dead' or 'skipped'; default 'queued'), `attempts` (default 0), `run_at` (the earliest time of the next attempt;
 * default clock_timestamp()), `leased_until` (null while no worker has the item), `queued_at` (default now()),
 * `finished_at` (null until the item is done or skipped) and `last_error`. Every time is the database's own. A service
 * enqueues by inserting a row in the transaction that makes the work necessary.
 */
export interface QueueTable {
  /** With its schema. */
  name: string;
  /** The column that completes the primary key after `guild_id`. An ordered queue handles IDs in ascending order. */
  id: string;
  idType: 'bigint' | 'uuid' | 'text';
  /** Names of columns that an earlier release has made under another name. */
  columns?: { runAt?: string; attempts?: string; finishedAt?: string };
  /** A select list that makes up an item's data, from `taken` (the row) and what is joined. */
  data?: string;
  /** A join of `taken` with other tables of the same guild. */
  join?: string;
}

/** An item while this process holds its lease. */
export interface QueueItem<Data extends object = object> {
  guildId: string;
  /** As text, whatever its type. */
  id: string;
  /** This attempt included, starting at 1. */
  attempts: number;
  /** Names the lease: whoever took the item later has another one. */
  lease: string;
  data: Data;
}

export interface QueueDefinition<Data extends object = object> {
  /** For metrics, logs and guildctl. */
  name: string;
  table: QueueTable;
  /** One item of a guild at a time, in the order of their IDs. Otherwise items are independent of each other. */
  ordered: boolean;
  /** The maximum of items in flight in one process. */
  concurrency: number;
  /** How long other processes leave an item alone that a worker has taken. */
  leaseMs: number;
  /** The maximum duration of `handle`. An attempt that could last beyond its lease is not started. */
  handleMs: number;
  /** The lease is extended while `handle` runs, whose duration is then not bounded. Not for ordered queues. */
  renews?: boolean;
  /**
   * Does the work; it may be called again for the same item. An ApiError below 500 is permanent: the item becomes a
   * dead letter at once. Any other error is retried with backoff.
   */
  handle(item: QueueItem<Data>): Promise<unknown>;
  /** Called in the transaction in which an operator discards an item. */
  skipped?(transaction: Queryable, item: { guildId: string; id: string }): Promise<void>;
}

/** What operators need to know of a queue to list, retry and skip its items. */
export type AdministeredQueue = Pick<QueueDefinition, 'name' | 'table' | 'ordered' | 'leaseMs' | 'skipped'>;

/** When a queue gives an item up; from the configuration of its service. */
export interface QueueLimits {
  /** Failed attempts after which an item is a dead letter. */
  maxAttempts: number;
  /** While nothing gets through (an outage), attempts do not count; after this long the item is a dead letter anyway. */
  maxOutageSeconds: number;
}
