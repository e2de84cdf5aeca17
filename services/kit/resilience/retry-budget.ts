/** The number of calls that allow one retry. */
const CALLS_PER_RETRY = 10;
/**
 * The maximum number of unused retries in the budget. They are needed when a replica with many calls in flight is lost.
 */
const MAX_SAVED = 100;

/**
 * Allows at most one retry for every ten calls, so that retries cannot overload an upstream that is recovering. The
 * budget starts empty, so the retries never exceed a tenth of the calls.
 */
export class RetryBudget {
  #saved = 0;

  /** Records the first attempt of a call, which adds to the retry budget. */
  called(): void {
    this.#saved = Math.min(this.#saved + 1, MAX_SAVED * CALLS_PER_RETRY);
  }

  /** Takes one retry from the budget and returns true; returns false if no retry is left. */
  take(): boolean {
    if (this.#saved < CALLS_PER_RETRY) return false;
    this.#saved -= CALLS_PER_RETRY;
    return true;
  }
}
