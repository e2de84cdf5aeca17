import type { Clock } from '../clock.ts';

/** The rounding error of both clocks, which have a resolution of one millisecond. */
const ROUNDING_MS = 1;

/**
 * Estimates Redis's clock. Each response carries a time of Redis's clock, which was read between the request and the
 * response. Of all possible estimates the latest is used, so that this process never takes a window that has ended in
 * Redis for the current window.
 */
export class RedisClock {
  readonly #clock: Clock;
  /** The minimum and the maximum offset from this process's clock to Redis's clock, in milliseconds. */
  #minOffset = Number.NEGATIVE_INFINITY;
  #maxOffset = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isKnown(): boolean {
    return Number.isFinite(this.#maxOffset);
  }

  /**
   * Converts a time of this process's clock to Redis's clock, both in Unix milliseconds. Unchanged until `learn` was
   * called.
   */
  at(time: number): number {
    return this.isKnown ? time + this.#maxOffset : time;
  }

  /** Learns from `redisTime`, a time in a response of Redis that has just arrived, to a request sent at `sentAt`. */
  learn(redisTime: number, sentAt: number): void {
    const min = redisTime - this.#clock.now() - ROUNDING_MS;
    const max = redisTime - sentAt + ROUNDING_MS;
    // If old and new bounds of the offset contradict each other, one of the clocks was set, and the old bounds are
    // dropped.
    const isContradicted = min > this.#maxOffset || max < this.#minOffset;
    this.#minOffset = isContradicted ? min : Math.max(min, this.#minOffset);
    this.#maxOffset = isContradicted ? max : Math.min(max, this.#maxOffset);
  }
}
