import type { ApiError } from '../errors.ts';
import type { Transaction } from '../postgres/pool.ts';

/**
 * A table whose rows are the items of a queue. Besides `guild_id` and its ID column it has `state` ('queued', 'done',
 * 'dead' or 'skipped'; default 'queued'), `attempts` (default 0), `run_at` (the earliest time of the next attempt;
 * default clock_timestamp()), `leased_until` (null while no worker has the item), `queued_at` (default now()),
 * `finished_at` (null until the item is done or skipped) and `last_error`. All times are the database's. A service
 * enqueues an item by inserting a row in the transaction that makes the work necessary.
 */
export interface QueueTable {
  /** The name of the queue's table, with its schema. */
  name: string;
  /**
   * The ID column of an item; `guild_id` and this column are the primary key. An ordered queue handles the items of a
   * guild in ascending order of this column.
   */
  id: string;
  idType: 'bigint' | 'uuid' | 'text';
  /** The names of the queue's columns that differ from the default names, such as `state` and `run_at`. */
  columns?: { state?: string; runAt?: string; attempts?: string; finishedAt?: string };
  /**
   * A uuid column that identifies the lease of an item, null while the item is not leased. Without such a column the
   * exact value of `leased_until` identifies the lease. Required if leases are renewed, and with `oneLeasedPerGuild`.
   */
  holder?: string;
  /**
   * The name of a unique index on `guild_id` over unfinished rows with a lease holder. With the index, all processes
   * together have at most one item of a guild in flight, and an item whose process died is handled before the guild's
   * other items.
   */
  oneLeasedPerGuild?: string;
  /**
   * SQL conditions for open items (waiting or in flight) and for dead letters, if they differ from the defaults on
   * `finished_at` and `state`.
   */
  conditions?: { open: string; dead: string };
  /** An SQL expression for the time from which `QueueLimits.maxOutageSeconds` counts. By default `queued_at`. */
  waitingSince?: string;
  /** An SQL select list for the item's `data`. It can use `taken` (the item's row) and the tables of `join`. */
  data?: string;
  /**
   * An SQL join of `taken` (the item's row) with other tables, for `data`. The joined rows must have the same guild, and the
   * join must also limit them to the guild `$1`, for which Citus finds one node.
   */
  join?: string;
}

/** Identifies an item of a queue. */
export interface ItemKey {
  guildId: string;
  /** The value of the item's ID column, as text for every column type. */
  id: string;
}

/** A queue item while this process holds the item's lease, as the handler gets it. */
export interface ClaimedItem<Data extends object = object> extends ItemKey {
  /**
   * The number of attempts since the item was queued, including the current one. A handler that stores progress may
   * reset the number to 1, here and in the item's row.
   */
  attempts: number;
  /** Identifies this lease of the item; if another process takes the item later, the item gets another lease. */
  lease: string;
  /**
   * Aborted when the process stops, and when this process has lost a lease that it renews. A handler that stops early
   * throws `Interrupted`.
   */
  signal: AbortSignal;
  data: Data;
}

/** An item that a worker has leased, before the queue calls the item's handler. */
export type TakenItem = Omit<ClaimedItem, 'signal'>;

/**
 * Thrown by a handler that stopped before the end, because `signal` was aborted or to give its slot to other items. The
 * item becomes due immediately, after the items that are due already, and the attempt does not count.
 */
export class Interrupted extends Error {}

/**
 * The end of an attempt. `released`: the handler threw `Interrupted`. `lost`: another process, a newer version of the item
 * or an operator took the lease away.
 */
export interface AttemptEnd {
  outcome: 'done' | 'retried' | 'dead' | 'released' | 'lost';
  /** The error with which a failed attempt ended. */
  error?: ApiError;
}

/** Decides if and when a failed item is tried again. */
export interface RetryPolicy {
  /** Returns the milliseconds until the next attempt, after `attempts` attempts. */
  delayMs(attempts: number, error: ApiError): number;
  /** Returns true if another attempt cannot succeed, so that the item becomes a dead letter immediately. */
  isPermanent(error: ApiError): boolean;
  /**
   * Returns true if the error may mean that no item can be handled now. Then the queue pauses for a moment, and the
   * attempt does not count unless another item succeeded within the last minute.
   */
  isOutage(error: ApiError): boolean;
  limits: QueueLimits;
}

export interface QueueDefinition<Data extends object = object> {
  /** The name of the queue in metrics, logs and guildctl. */
  name: string;
  table: QueueTable;
  /**
   * If true, the items of a guild are handled one at a time, in the order of their IDs. If false, items are independent
   * of each other.
   */
  ordered: boolean;
  /** The maximum number of items in flight in one process. */
  concurrency: number;
  /**
   * The maximum number of items of one guild in flight in one process; by default `concurrency`. Ignored in ordered
   * queues.
   */
  maxPerGuild?: number;
  /** Milliseconds for which a worker leases an item; other processes do not take a leased item. */
  leaseMs: number;
  /**
   * The maximum duration of `handle` in milliseconds. An attempt that could outlast its lease is not started. If
   * undefined, the lease is renewed while `handle` runs. Required for ordered queues.
   */
  handleMs?: number;
  /** If true, the rows of done items are deleted. */
  deletesDone?: boolean;
  /**
   * If true, `handle` itself marks the item's row as done, in a transaction of its own. The row is then no longer open
   * at the end of the attempt, and the lease does not count as lost.
   */
  handlerFinishes?: boolean;
  /**
   * Overrides parts of the default retry policy: errors with a status below 500 are permanent, the backoff grows from
   * 0.5 s to a minute, and the service's limits apply.
   */
  retry?: Partial<RetryPolicy>;
  /**
   * If set, `handle` also gets the oldest due items of other guilds, up to this number of items together. Only for
   * ordered queues with `handlerFinishes`, and tables without `holder`.
   */
  maxBatch?: number;
  /**
   * Does the work of an item, and with `maxBatch` of the `others`; may be called more than once for the same item. An
   * error fails all of them.
   */
  handle(item: ClaimedItem<Data>, others: readonly ClaimedItem<Data>[]): Promise<unknown>;
  /** Called in the transaction that records that an attempt ended as done, retried or dead. */
  recorded?(transaction: Transaction, item: ClaimedItem<Data>, end: AttemptEnd): Promise<void>;
  /** Called after each attempt; replaces the queue's own log lines. Must not throw. */
  settled?(item: ClaimedItem<Data>, end: AttemptEnd): void;
  /** Called every few seconds with the item counts and ages of the queue in all guilds. */
  statsRead?(stats: QueueStats): Promise<void> | void;
  /**
   * Called in the transaction in which an operator queues an item again, before the item's row is locked. A queue that
   * needs other locks takes them here.
   */
  retrying?(transaction: Transaction, item: ItemKey): Promise<void>;
  /**
   * Called in the transaction in which an operator queues an item again, after the item's row was changed; throws if
   * the item cannot be queued again.
   */
  retried?(transaction: Transaction, item: ItemKey): Promise<void>;
  /** Called in the transaction in which an operator discards an item. */
  skipped?(transaction: Transaction, item: ItemKey): Promise<void>;
}

/** The part of a queue's definition that operators' calls (list, retry, skip) need. */
export type AdministeredQueue = Pick<
  QueueDefinition,
  'name' | 'table' | 'ordered' | 'leaseMs' | 'retrying' | 'retried' | 'skipped'
>;

/** Limits after which a queue gives an item up as a dead letter; null means no limit. */
export interface QueueLimits {
  /** The number of failed attempts after which an item is a dead letter. */
  maxAttempts: number | null;
  /**
   * Seconds in the queue after which the next failure makes an item a dead letter, even if the failure is an outage.
   */
  maxOutageSeconds: number | null;
}

/** For queues whose items are retried until they succeed. */
export const NO_LIMITS: QueueLimits = { maxAttempts: null, maxOutageSeconds: null };

export interface QueueStats {
  /** `queued` and `dead` count the items that wait or are in flight, and the dead letters, each up to 10,000. */
  queued: number;
  dead: number;
  /** The age in seconds of the oldest item that waits or is in flight; null if there is none. */
  oldestSeconds: number | null;
}
