/** Calls that pay for one repeat. */
const CALLS_PER_REPEAT = 10;
/** Repeats that quiet times may save up for a bad moment, such as the loss of a replica with many calls under way. */
const MOST_SAVED = 100;

/**
 * Allows at most one repeat for each ten calls, so that repeats never become the load that keeps a part down. It begins
 * with nothing saved: at no time were there more repeats than a tenth of the calls.
 */
export class RetryBudget {
  #saved = 0;

  /** A call is made for the first time. */
  called(): void {
    this.#saved = Math.min(this.#saved + 1, MOST_SAVED * CALLS_PER_REPEAT);
  }

  /** Whether a call may be repeated now; if so, it is paid for. */
  take(): boolean {
    if (this.#saved < CALLS_PER_REPEAT) return false;
    this.#saved -= CALLS_PER_REPEAT;
    return true;
  }
}
