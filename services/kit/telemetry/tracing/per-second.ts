/** Allows a number of events in each second. */
export class PerSecond {
  readonly #max: number;
  readonly #now: () => number;
  #secondStartedAt = Number.NEGATIVE_INFINITY;
  #taken = 0;

  /** `now` returns milliseconds of a clock that is never set back. */
  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  /** Returns true if the event is within the limit. */
  take(): boolean {
    const now = this.#now();
    if (now - this.#secondStartedAt >= 1_000) {
      this.#secondStartedAt = now;
      this.#taken = 0;
    }
    if (this.#taken >= this.#max) return false;
    this.#taken++;
    return true;
  }
}
