import { setTimeout as wait } from 'node:timers/promises';
import { backoffMs } from '../../resilience/backoff.ts';
import { isLockTimeout, isRetryable } from '../database-errors.ts';

/** The pauses between attempts to get a lock; shorter than the time after which PostgreSQL ends an idle session. */
const BACKOFF = { minMs: 500, maxMs: 5_000 };

export interface LockRetryOptions {
  /** How long, in milliseconds, to wait for locks in all, counted from the first wait that failed. */
  patienceMs: number;
  /** How long, in milliseconds, the first attempt waits for one lock. */
  lockTimeoutMs: number;
  onRetry: (error: unknown, pauseMs: number) => void;
}

/**
 * Repeats `attempt`, which must leave nothing behind when it fails, while other sessions hold locks that it needs. It
 * receives the milliseconds that are left. Throws its last error.
 */
export async function retryWhileLocked<T>(
  attempt: (remainingMs: number) => Promise<T>,
  { patienceMs, lockTimeoutMs, onRetry }: LockRetryOptions,
): Promise<T> {
  let deadline: number | undefined;
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt(deadline === undefined ? patienceMs : deadline - performance.now());
    } catch (error) {
      if (!isRetryable(error)) throw error;
      deadline ??= performance.now() + patienceMs - (isLockTimeout(error) ? lockTimeoutMs : 0);
      const pauseMs = backoffMs(attempts, BACKOFF);
      if (performance.now() + pauseMs > deadline) throw error;
      onRetry(error, pauseMs);
      await wait(pauseMs);
    }
  }
}
