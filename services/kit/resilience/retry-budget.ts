/** The number of first attempts that allow one retry. */
const CALLS_PER_RETRY = 10;
/** The largest number of saved retries; they are needed when a replica with many calls in flight is lost. */
const MAX_SAVED = 100;

/**
 * Allows at most one retry for every ten calls, so that retries cannot overload an upstream that is recovering. The
 * budget starts empty: at no time have there been more retries than a tenth of the calls.
 */
export class RetryBudget {
  #saved = 0;

  /** Records the first attempt of a call. */
  called(): void {
    this.#saved = Math.min(this.#saved + 1, MAX_SAVED * CALLS_PER_RETRY);
  }

  /** Takes one retry from the budget; false if there is none. */
  take(): boolean {
    if (this.#saved < CALLS_PER_RETRY) return false;
    this.#saved -= CALLS_PER_RETRY;
    return true;
  }
}
