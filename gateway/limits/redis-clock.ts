import type { Clock } from '#kit/clock.ts';

/** Both clocks tell whole milliseconds. */
const ROUNDING_MS = 1;

/**
 * What Redis's clock shows, as far as its answers tell: each was given between question and answer. Of what is possible
 * the latest is taken, so that a window that Redis has ended is never held to be the current one.
 */
export class RedisClock {
  readonly #clock: Clock;
  /** Redis's clock less this one, at least and at most. */
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isKnown(): boolean {
    return Number.isFinite(this.#most);
  }

  /** Redis's time at a time of this process's clock; the same while nothing is known. All Unix milliseconds. */
  at(time: number): number {
    return this.isKnown ? time + this.#most : time;
  }

  /** Redis has just answered that it was `told`, to a question asked at `askedAt`. */
  learn(told: number, askedAt: number): void {
    const least = told - this.#clock.now() - ROUNDING_MS;
    const most = told - askedAt + ROUNDING_MS;
    // One of the clocks was set: what was known is no longer true.
    const isContradicted = least > this.#most || most < this.#least;
    this.#least = isContradicted ? least : Math.max(least, this.#least);
    this.#most = isContradicted ? most : Math.min(most, this.#most);
  }
}
