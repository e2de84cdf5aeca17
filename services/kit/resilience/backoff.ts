export interface BackoffOptions {
  minMs: number;
  maxMs: number;
  /**
   * The share of each delay that is random, from 0 to 1; 0.5 if left out. Replicas that failed together retry apart.
   */
  jitter?: number;
  random?: () => number;
}

/** After this many doublings every delay is at its maximum; more would overflow. */
const MAX_DOUBLINGS = 30;

/**
 * Milliseconds to wait after the given number of failed attempts, from 1: the delay doubles with each attempt from
 * `minMs` to `maxMs`, and is then shortened at random by up to the share `jitter`.
 */
export function backoffMs(attempts: number, { minMs, maxMs, jitter = 0.5, random = Math.random }: BackoffOptions) {
  const full = Math.min(maxMs, minMs * 2 ** Math.min(attempts - 1, MAX_DOUBLINGS));
  return Math.round(full * (1 - jitter * random()));
}
