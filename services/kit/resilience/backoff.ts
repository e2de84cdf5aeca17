export interface BackoffOptions {
  minMs: number;
  maxMs: number;
  /**
   * The share of each delay that is random, from 0 to 1; 0.5 if left out. It makes replicas that failed together retry
   * at different times.
   */
  jitter?: number;
  random?: () => number;
}

/**
 * The maximum number of times that a backoff delay is doubled; by then the delay is at its maximum, and more would
 * overflow.
 */
const MAX_DOUBLINGS = 30;

/**
 * Returns the milliseconds to wait after the given number of failed attempts, starting at 1: the delay doubles with
 * each attempt from `minMs` to `maxMs`, and is then shortened at random by up to the share `jitter`.
 */
export function backoffMs(attempts: number, { minMs, maxMs, jitter = 0.5, random = Math.random }: BackoffOptions) {
  const full = Math.min(maxMs, minMs * 2 ** Math.min(attempts - 1, MAX_DOUBLINGS));
  return Math.round(full * (1 - jitter * random()));
}
