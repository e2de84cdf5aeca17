const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Seconds before each attempt, counted from the attempt before it. */
const DELAYS = [0, 5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR] as const;
/** The share of a delay that is added at random, so that events that failed together are not retried together. */
const JITTER = 0.1;

/** The seconds after `failing_since` after which an endpoint is disabled. */
export const MAX_FAILING_SECONDS = 5 * 24 * HOUR;

/** The seconds until the next attempt after `attempts` failed ones; null after the last attempt. */
export function retrySeconds(attempts: number, random = Math.random): number | null {
  const delay = DELAYS[attempts];
  return delay === undefined ? null : delay * (1 + JITTER * random());
}
