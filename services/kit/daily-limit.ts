import { ApiError } from './errors.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * Returns the error CONFLICT for a guild that has reached a limit of the current day (UTC), with the rest of the day as
 * Retry-After. `now` is in Unix milliseconds.
 */
export function dailyLimitReached(message: string, now: number): ApiError {
  return new ApiError('CONFLICT', { message, retryAfter: (DAY_MS - (now % DAY_MS)) / 1_000 });
}
