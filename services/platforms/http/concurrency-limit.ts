import { currentPurpose, PURPOSES, type Purpose } from '#kit/context.ts';
import { ApiError } from '#kit/errors.ts';

export interface ConcurrencyLimitOptions {
  maxRunning: number;
  /** The maximum number of waiting actions of each purpose; further actions are rejected immediately. */
  maxWaitingPerPurpose: number;
  maxWaitMs: number;
  /** The message of the error with which an action is rejected. */
  message: string;
}

type Waiter = PromiseWithResolvers<void>;

/**
 * Limits the number of actions that run concurrently. Further actions wait in a queue, ordered by the urgency of their
 * purpose and then by arrival.
 */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions;
  readonly #waiting: Record<Purpose, Set<Waiter>> = { caller: new Set(), background: new Set(), job: new Set() };
  #running = 0;

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options;
  }

  /**
   * Runs an action and returns its result. Throws UNAVAILABLE without running the action if the queue is full or the
   * wait too long.
   */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.#options.maxRunning) this.#running += 1;
    else await this.#wait();
    try {
      return await action();
    } finally {
      this.#startNext();
    }
  }

  async #wait(): Promise<void> {
    const { maxWaitingPerPurpose, maxWaitMs, message } = this.#options;
    const waiting = this.#waiting[currentPurpose()];
    if (waiting.size >= maxWaitingPerPurpose) throw new ApiError('UNAVAILABLE', { message });
    const waiter: Waiter = Promise.withResolvers();
    waiting.add(waiter);
    const timer = setTimeout(() => {
      waiting.delete(waiter);
      waiter.reject(new ApiError('UNAVAILABLE', { message }));
    }, maxWaitMs);
    await waiter.promise.finally(() => clearTimeout(timer));
  }

  #startNext(): void {
    for (const purpose of PURPOSES) {
      const [next] = this.#waiting[purpose];
      if (!next) continue;
      this.#waiting[purpose].delete(next);
      next.resolve();
      return;
    }
    this.#running -= 1;
  }
}
