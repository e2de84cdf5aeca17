/** Renewals are scheduled at most this far ahead. A time further ahead means that the clock was set back. */
const MAX_AHEAD_MS = 120_000;

/** The IDs of API keys, grouped by the second in which they are due to be verified again. */
export class RenewalSchedule {
  readonly #seconds = new Map<number, string[]>();
  readonly #max: number;
  #size = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Schedules the renewal of an API key for a time in Unix milliseconds, unless `max` keys are scheduled already. */
  add(id: string, at: number): void {
    if (this.#size >= this.#max) return;
    this.#size += 1;
    const second = Math.ceil(at / 1000);
    const ids = this.#seconds.get(second);
    if (ids) ids.push(id);
    else this.#seconds.set(second, [id]);
  }

  /**
   * Removes and returns the API keys that are due. If the clock was set back, keys scheduled too far ahead count as due
   * too.
   */
  take(now: number): string[] {
    const due: string[] = [];
    for (const [second, ids] of this.#seconds) {
      const ahead = second * 1000 - now;
      if (ahead > 0 && ahead < MAX_AHEAD_MS) continue;
      this.#seconds.delete(second);
      this.#size -= ids.length;
      for (const id of ids) due.push(id);
    }
    return due;
  }
}
