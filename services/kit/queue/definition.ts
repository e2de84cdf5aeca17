import type { ApiError } from '../errors.ts';
import type { Queryable } from '../postgres/pool.ts';

/**
 * A table whose rows are the items of a queue. Besides `guild_id` and its ID column it has `state` ('queued', 'done',
 * 'dead' or 'skipped'; default 'queued'), `attempts` (default 0), `run_at` (the earliest time of the next attempt;
 * default clock_timestamp()), `leased_until` (null while no worker has the item), `queued_at` (default now()),
 * `finished_at` (null until the item is done or skipped) and `last_error`. All times are the database's. A service
 * enqueues an item by inserting a row in the transaction that makes the work necessary.
 */
export interface QueueTable {
  /** With its schema. */
  name: string;
  /** The column that completes the primary key after `guild_id`. An ordered queue handles IDs in ascending order. */
  id: string;
  idType: 'bigint' | 'uuid' | 'text';
  /** Columns that have another name in this table. */
  columns?: { state?: string; runAt?: string; attempts?: string; finishedAt?: string };
  /**
   * A uuid column, null while the item is not leased, that names the lease; without one the exact value of
   * `leased_until` names it. Required where leases are renewed, and with `oneLeasedPerGuild`.
   */
  holder?: string;
  /**
   * The name of a unique index on `guild_id` of unfinished rows with a holder. All processes together then have at most
   * one item of a guild in flight, and an item whose process died is handled before its guild's others.
   */
  oneLeasedPerGuild?: string;
  /** SQL conditions for items to be handled and for dead letters, where they do not follow from the columns above. */
  conditions?: { open: string; dead: string };
  /** An SQL expression: the time from which `QueueLimits.maxOutageSeconds` counts. By default `queued_at`. */
  waitingSince?: string;
  /** A select list of the item's data, from `taken` (the row) and the joined tables. */
  data?: string;
  /** A join of `taken` with other tables of the same guild. */
  join?: string;
}

/** Names an item of a queue. */
export interface ItemKey {
  guildId: string;
  /** As text, whatever the column's type. */
  id: string;
}

/** An item while this process holds its lease. */
export interface ClaimedItem<Data extends object = object> extends ItemKey {
  /** Attempts since it was queued, this one included. A handler that stores progress may set it to 1, also in the row. */
  attempts: number;
  /** Names the lease: an item that another process takes later gets another lease. */
  lease: string;
  /** Aborted when the process stops, and when a lease that is renewed was lost. Throw `Interrupted` to stop early. */
  signal: AbortSignal;
  data: Data;
}

/** An item that was taken, before its handler is called. */
export type TakenItem = Omit<ClaimedItem, 'signal'>;

/** Thrown by a handler that stopped because of `signal`: the item is due immediately, and the attempt does not count. */
export class Interrupted extends Error {}

/** How an attempt ended. `lost`: another process, a newer version of the item or an operator took the lease away. */
export interface AttemptEnd {
  outcome: 'done' | 'retried' | 'dead' | 'released' | 'lost';
  /** Why it failed. */
  error?: ApiError;
}

/** What happens after a failed attempt. */
export interface RetryPolicy {
  /** Milliseconds until the next attempt, after this many. */
  delayMs(attempts: number, error: ApiError): number;
  /** Whether another attempt cannot succeed, so that the item becomes a dead letter immediately. */
  isPermanent(error: ApiError): boolean;
  /**
   * Whether the error may mean that no item can be handled now. The queue then pauses for a moment, and the attempt
   * does not count unless other items succeeded within the last minute.
   */
  isOutage(error: ApiError): boolean;
  limits: QueueLimits;
}

export interface QueueDefinition<Data extends object = object> {
  /** For metrics, logs and guildctl. */
  name: string;
  table: QueueTable;
  /** One item of a guild at a time, in the order of their IDs. Otherwise items are independent of each other. */
  ordered: boolean;
  /** The maximum number of items in flight in one process. */
  concurrency: number;
  /** The maximum number of items of one guild in flight in one process, by default `concurrency`; not for ordered queues. */
  maxPerGuild?: number;
  /** How long other processes leave an item alone that a worker has taken. */
  leaseMs: number;
  /**
   * The maximum duration of `handle`; an attempt that could last longer than its lease is not started. Without it the
   * lease is renewed while `handle` runs. Required for ordered queues.
   */
  handleMs?: number;
  /** Done items are deleted. */
  deletesDone?: boolean;
  /** `handle` marks the row as done in its own transaction, so that it is no longer open when the attempt has ended. */
  handlerFinishes?: boolean;
  /** In place of the default: permanent below 500, else backoff from 0.5 s up to a minute and the service's limits. */
  retry?: Partial<RetryPolicy>;
  /** Does the work; it may be called again for the same item. */
  handle(item: ClaimedItem<Data>): Promise<unknown>;
  /** Called in the transaction that records that an item is done, will be retried or is dead. */
  recorded?(transaction: Queryable, item: ClaimedItem<Data>, end: AttemptEnd): Promise<void>;
  /** Called after each attempt, in place of the queue's own log lines. Must not throw. */
  settled?(item: ClaimedItem<Data>, end: AttemptEnd): void;
  /** Called every few seconds with the figures of all guilds. */
  statsRead?(stats: QueueStats): Promise<void> | void;
  /** Called in the transaction in which an operator queues an item again, before the item's row is locked. */
  retrying?(transaction: Queryable, item: ItemKey): Promise<void>;
  /** Called in that transaction after the row was changed; throws where that is not possible. */
  retried?(transaction: Queryable, item: ItemKey): Promise<void>;
  /** Called in the transaction in which an operator discards an item. */
  skipped?(transaction: Queryable, item: ItemKey): Promise<void>;
}

/** The part of a queue's definition that its operators' methods need. */
export type AdministeredQueue = Pick<
  QueueDefinition,
  'name' | 'table' | 'ordered' | 'leaseMs' | 'retrying' | 'retried' | 'skipped'
>;

/** When a queue gives an item up; null: never. */
export interface QueueLimits {
  /** Failed attempts after which an item is a dead letter. */
  maxAttempts: number | null;
  /** Seconds in the queue after which the next failure makes an item a dead letter, also during an outage. */
  maxOutageSeconds: number | null;
}

export interface QueueStats {
  /** Open and dead items, 10,000 at most. */
  queued: number;
  dead: number;
  /** The age of the oldest open item; null when there is none. */
  oldestSeconds: number | null;
}
