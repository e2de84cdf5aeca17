import { performance } from 'node:perf_hooks';
import { ApiError, asApiError, isServerError } from '../errors.ts';
import { isRejectedCall } from '../grpc/errors.ts';
import type { Database } from '../postgres/pool.ts';
import { backoffMs } from '../resilience/backoff.ts';
import { DeadlineError, within } from '../resilience/deadline.ts';
import { inParallel } from '../resilience/parallel.ts';
import { whileRenewing } from '../resilience/renewing.ts';
import type { Logger } from '../telemetry/log.ts';
import { ITEM_BACKOFF, outageBackoffMs } from './backoff.ts';
import {
  type AttemptEnd,
  type ClaimedItem,
  Interrupted,
  type QueueDefinition,
  type QueueLimits,
  type RetryPolicy,
  type TakenItem,
} from './definition.ts';
import type { QueueMetrics } from './metrics.ts';
import type { Failure, QueueStore } from './store.ts';

/**
 * Milliseconds. If another item succeeded within this time, the services that the queue calls are up, so an outage
 * error counts as a failed attempt of the item.
 */
const EVIDENCE_MS = 60_000;
const MAX_ERROR_LENGTH = 300;
const RENEWALS_PER_LEASE = 3;
/** The number of statements at the same time that record the failure of a batch. */
const MAX_WRITES = 2;

/**
 * The result of one attempt. `over`: the item needs nothing more now. `retry`: the item is tried again later.
 * `unavailable`: a service that the handler calls may be down, for all items.
 */
export type AttemptResult = 'over' | 'retry' | 'unavailable';

export interface AttemptOptions {
  definition: QueueDefinition;
  limits: QueueLimits;
  database: Database;
  store: QueueStore;
  metrics: QueueMetrics;
  log: Logger;
}

/** Leases an item, calls its handler once, and records the outcome of this attempt in the item's row. */
export class Attempts {
  readonly #options: AttemptOptions;
  readonly #retry: RetryPolicy;
  readonly #stopping = new AbortController();
  #succeededAt = Number.NEGATIVE_INFINITY;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#retry = {
      delayMs: (attempts) => backoffMs(attempts, ITEM_BACKOFF),
      isPermanent: (error) => !isServerError(error),
      isOutage: isOutageOrRejection,
      limits: options.limits,
      ...options.definition.retry,
    };
  }

  /** Aborts the `signal` of all items in flight, so that their handlers stop early. */
  interrupt(): void {
    this.#stopping.abort();
  }

  /**
   * Leases and handles one item; without an item ID, the guild's oldest item. Returns undefined if there was no such
   * item to lease.
   */
  async next(guildId: string, itemId?: string): Promise<AttemptResult | undefined> {
    const { definition, store } = this.#options;
    const { leaseMs, handleMs } = definition;
    const startedAt = performance.now();
    const taken = await store.take(guildId, itemId, leaseMs);
    if (!taken) return undefined;
    // The item's lease began during the database call. After a slow call the lease could end, and another process take
    // the item, before this process has handled it.
    if (performance.now() - startedAt > leaseMs - (handleMs ?? leaseMs / 2)) return this.#putBack(taken);
    const { maxAttempts } = this.#retry.limits;
    const lost = new AbortController();
    const signal =
      handleMs === undefined ? AbortSignal.any([this.#stopping.signal, lost.signal]) : this.#stopping.signal;
    const item = { ...taken, signal };
    // The item has no attempt left: the last workers that took the item ended without recording an outcome, and may
    // have been killed by the item itself.
    if (maxAttempts !== null && item.attempts > maxAttempts) {
      return this.#fail(item, new Error('the workers died while handling it'));
    }
    return this.#handle(item, () => lost.abort());
  }

  /**
   * Handles items of several guilds that this process has leased since `startedAt` (of performance.now()), in one call
   * of the handler.
   */
  async batch(taken: readonly TakenItem[], startedAt: number): Promise<AttemptResult> {
    const { definition, metrics } = this.#options;
    const { leaseMs, handleMs = leaseMs / 2 } = definition;
    const items = taken.map((item) => ({ ...item, signal: this.#stopping.signal }));
    const [first, ...others] = items;
    if (!first) return 'over';
    if (performance.now() - startedAt > leaseMs - handleMs) {
      return worst(await inParallel(items, MAX_WRITES, (item) => this.#putBack(item)));
    }
    try {
      await within(handleMs, definition.handle(first, others));
    } catch (error) {
      if (others.length > 0 && !this.#retry.isOutage(asApiError(error))) return this.#separately(items, startedAt);
      return worst(await inParallel(items, MAX_WRITES, (item) => this.#fail(item, error)));
    }
    this.#succeededAt = performance.now();
    for (const item of items) {
      metrics.attempted('done');
      this.#settle(item, { outcome: 'done' });
    }
    return 'over';
  }

  /** Handles the items of a failed batch one by one, so that an item that cannot succeed holds up no other guild. */
  async #separately(items: readonly TakenItem[], startedAt: number): Promise<AttemptResult> {
    const results: AttemptResult[] = [];
    for (const item of items) results.push(await this.batch([item], startedAt));
    return worst(results);
  }

  async #handle(item: ClaimedItem, lose: () => void): Promise<AttemptResult> {
    const { definition, metrics } = this.#options;
    const { handleMs } = definition;
    try {
      await (handleMs === undefined ? this.#renewing(item, lose) : within(handleMs, definition.handle(item, [])));
    } catch (error) {
      return error instanceof Interrupted ? this.#release(item) : this.#fail(item, error);
    }
    this.#succeededAt = performance.now();
    metrics.attempted('done');
    const end: AttemptEnd = { outcome: 'done' };
    const isRecorded = await this.#record(
      item,
      (store) => this.#finish(store, item),
      () => end,
    );
    this.#settle(item, isRecorded || definition.handlerFinishes ? end : { outcome: 'lost' });
    return 'over';
  }

  #renewing(item: ClaimedItem, lose: () => void): Promise<unknown> {
    const { definition, store } = this.#options;
    const renew = async () => {
      // A failed renewal is ignored, because the next renewal may succeed before the lease ends.
      if (!(await store.renew(item, definition.leaseMs))) lose();
    };
    return whileRenewing(definition.leaseMs / RENEWALS_PER_LEASE, renew, () => definition.handle(item, []));
  }

  #finish(store: QueueStore, item: ClaimedItem): Promise<boolean> {
    return this.#options.definition.deletesDone ? store.delete(item) : store.finish(item);
  }

  async #release(item: ClaimedItem): Promise<AttemptResult> {
    const isReleased = await this.#options.store.release(item);
    this.#settle(item, { outcome: isReleased ? 'released' : 'lost' });
    return 'over';
  }

  async #fail(item: ClaimedItem, thrown: unknown): Promise<AttemptResult> {
    const { metrics } = this.#options;
    const retry = this.#retry;
    const error = thrown instanceof DeadlineError ? new ApiError('TIMEOUT', { cause: thrown }) : asApiError(thrown);
    const isUnavailable = retry.isOutage(error);
    const counts = !isUnavailable || performance.now() - this.#succeededAt < EVIDENCE_MS;
    const failure: Failure = {
      error: `${error.code}: ${error.message}`.slice(0, MAX_ERROR_LENGTH),
      isPermanent: retry.isPermanent(error),
      counts,
      delayMs: counts ? retry.delayMs(item.attempts, error) : outageBackoffMs(),
      ...retry.limits,
    };
    const endOf = (state: 'queued' | 'dead'): AttemptEnd => ({ outcome: state === 'dead' ? 'dead' : 'retried', error });
    const state = await this.#record(item, (store) => store.fail(item, failure), endOf);
    this.#settle(item, state ? endOf(state) : { outcome: 'lost', error }, failure.delayMs);
    if (!state) return 'over';
    metrics.attempted(state === 'dead' ? 'dead' : counts ? 'retried' : 'unavailable');
    if (state === 'dead') return 'over';
    return isUnavailable ? 'unavailable' : 'retry';
  }

  /**
   * Writes the outcome of an attempt. If the queue's definition has a `recorded` callback, the callback writes in the
   * same transaction.
   */
  #record<Result>(
    item: ClaimedItem,
    write: (store: QueueStore) => Promise<Result>,
    endOf: (result: NonNullable<Result>) => AttemptEnd,
  ): Promise<Result> {
    const { definition, database, store } = this.#options;
    if (!definition.recorded) return write(store);
    return database.transaction(async (transaction) => {
      const result = await write(store.in(transaction));
      if (result) await definition.recorded?.(transaction, item, endOf(result));
      return result;
    });
  }

  #settle(item: ClaimedItem, end: AttemptEnd, delayMs?: number): void {
    const { definition, log } = this.#options;
    if (definition.settled) return definition.settled(item, end);
    const names = { queue: definition.name, guild_id: item.guildId, item_id: item.id, attempts: item.attempts };
    const { outcome, error } = end;
    if (outcome === 'dead') log.error({ ...names, err: error }, 'queue item became a dead letter');
    if (outcome === 'lost') log.warn({ ...names, code: error?.code }, 'queue item was taken over by another process');
    if (outcome === 'retried') {
      log.warn({ ...names, code: error?.code, delay_ms: delayMs }, 'queue item failed, will retry');
    }
  }

  async #putBack(item: TakenItem): Promise<AttemptResult> {
    await this.#options.store.fail(item, {
      error: 'TIMEOUT: the database was too slow',
      isPermanent: false,
      counts: false,
      delayMs: outageBackoffMs(),
      maxAttempts: null,
      maxOutageSeconds: null,
    });
    return 'retry';
  }
}

/** Returns the outcome of a batch, which is the worst outcome of its items. */
function worst(results: readonly (AttemptResult | undefined)[]): AttemptResult {
  return results.find((result) => result === 'unavailable') ?? results.find((result) => result === 'retry') ?? 'over';
}

/**
 * Returns true for an error of a service that is down, or that rejects every call of this process, for example during a
 * key rotation. Such an attempt does not count, because otherwise all items would become dead letters.
 */
function isOutageOrRejection(error: ApiError): boolean {
  return error.code === 'UNAVAILABLE' || error.code === 'TIMEOUT' || isRejectedCall(error);
}
