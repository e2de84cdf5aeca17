import type { Clock } from '#kit/clock.ts';

/** Both clocks have a resolution of one millisecond. */
const ROUNDING_MS = 1;

/**
 * Estimates Redis's clock. Each response carries a time of Redis's clock, which was read between the request and the
 * response. Of all possible times the latest is used, so that this process never takes a window that has ended in Redis
 * for the current one.
 */
export class RedisClock {
  readonly #clock: Clock;
  /** The bounds of the offset from this process's clock to Redis's, in milliseconds. */
  #minOffset = Number.NEGATIVE_INFINITY;
  #maxOffset = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isKnown(): boolean {
    return Number.isFinite(this.#maxOffset);
  }

  /** Converts a time of this process's clock to Redis's clock, both Unix milliseconds. Unchanged until `learn` was called. */
  at(time: number): number {
    return this.isKnown ? time + this.#maxOffset : time;
  }

  /** Takes `redisTime` from a response that has just arrived, to a request that was sent at `sentAt`. */
  learn(redisTime: number, sentAt: number): void {
    const min = redisTime - this.#clock.now() - ROUNDING_MS;
    const max = redisTime - sentAt + ROUNDING_MS;
    // The old bounds no longer hold: one of the clocks was set.
    const isContradicted = min > this.#maxOffset || max < this.#minOffset;
    this.#minOffset = isContradicted ? min : Math.max(min, this.#minOffset);
    this.#maxOffset = isContradicted ? max : Math.min(max, this.#maxOffset);
  }
}
