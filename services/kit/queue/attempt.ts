import { performance } from 'node:perf_hooks';
import { ApiError, asApiError, isServerError } from '../errors.ts';
import { isRejectedCall } from '../grpc/errors.ts';
import { DeadlineError, within } from '../resilience/deadline.ts';
import { whileRenewing } from '../resilience/renewing.ts';
import type { Logger } from '../telemetry/log.ts';
import { backoffMs, outageBackoffMs } from './backoff.ts';
import type { QueueDefinition, QueueItem, QueueLimits } from './definition.ts';
import type { QueueMetrics } from './metrics.ts';
import type { Failure, QueueStore } from './store.ts';

/** A success within this time shows that what the queue needs is up, so that an item's failure is its own. */
const EVIDENCE_MS = 60_000;
const MAX_ERROR_LENGTH = 300;

/** `over`: the item is done or a dead letter. `unavailable`: what it needs may be down for all items. */
export type AttemptResult = 'over' | 'retry' | 'unavailable';

export interface AttemptOptions {
  definition: QueueDefinition;
  limits: QueueLimits;
  store: QueueStore;
  metrics: QueueMetrics;
  log: Logger;
}

/** Takes items and handles them: one attempt at a time, whose outcome is recorded in the item's row. */
export class Attempts {
  readonly #options: AttemptOptions;
  #succeededAt = Number.NEGATIVE_INFINITY;

  constructor(options: AttemptOptions) {
    this.#options = options;
  }

  /** Takes and handles an item, or a guild's head; undefined when there was nothing to take. */
  async next(guildId: string, itemId?: string): Promise<AttemptResult | undefined> {
    const { definition, store } = this.#options;
    const { leaseMs, handleMs, renews } = definition;
    const startedAt = performance.now();
    const item = await store.take(guildId, itemId, leaseMs);
    if (!item) return undefined;
    // The lease began at some time since. If the database was slow, another process could have the item before this
    // one is done with it.
    if (!renews && performance.now() - startedAt > leaseMs - handleMs) return this.#putBack(item);
    return this.#handle(item);
  }

  async #handle(item: QueueItem): Promise<AttemptResult> {
    const { definition, limits, store, metrics } = this.#options;
    // Its last workers ended without recording an outcome; it may be what ended them.
    if (item.attempts > limits.maxAttempts) return this.#fail(item, new Error('the workers died while handling it'));
    try {
      await (definition.renews ? this.#renewing(item) : within(definition.handleMs, definition.handle(item)));
    } catch (error) {
      return this.#fail(item, error);
    }
    this.#succeededAt = performance.now();
    metrics.attempted('done');
    await store.finish(item);
    return 'over';
  }

  #renewing(item: QueueItem): Promise<unknown> {
    const { definition, store } = this.#options;
    const renew = async () => {
      item.lease = (await store.renew(item, definition.leaseMs)) ?? item.lease;
    };
    return whileRenewing(definition.leaseMs / 4, renew, () => definition.handle(item));
  }

  async #fail(item: QueueItem, thrown: unknown): Promise<AttemptResult> {
    const { definition, limits, store, metrics, log } = this.#options;
    const error = thrown instanceof DeadlineError ? new ApiError('TIMEOUT', { cause: thrown }) : asApiError(thrown);
    // A rejected call too, as while keys are replaced: it is no item's fault, and all items would become dead letters.
    const isUnavailable = error.code === 'UNAVAILABLE' || error.code === 'TIMEOUT' || isRejectedCall(error);
    const counts = !isUnavailable || performance.now() - this.#succeededAt < EVIDENCE_MS;
    const failure: Failure = {
      error: `${error.code}: ${error.message}`.slice(0, MAX_ERROR_LENGTH),
      isPermanent: !isServerError(error),
      counts,
      delayMs: counts ? backoffMs(item.attempts) : outageBackoffMs(),
      ...limits,
    };
    const state = await store.fail(item, failure);
    const names = { queue: definition.name, guild_id: item.guildId, item_id: item.id, attempts: item.attempts };
    if (state === 'dead') {
      metrics.attempted('dead');
      log.error({ ...names, err: thrown }, 'queue item became a dead letter');
      return 'over';
    }
    metrics.attempted(counts ? 'retried' : 'unavailable');
    log.warn({ ...names, code: error.code, delay_ms: failure.delayMs }, 'queue item failed, will retry');
    return isUnavailable ? 'unavailable' : 'retry';
  }

  async #putBack(item: QueueItem): Promise<AttemptResult> {
    const { store, limits } = this.#options;
    const failure = { error: 'TIMEOUT: the database was too slow', isPermanent: false, counts: false, ...limits };
    await store.fail(item, { ...failure, delayMs: outageBackoffMs() });
    return 'retry';
  }
}
