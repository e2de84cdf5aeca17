import { ApiError } from '#kit/errors.ts';

const DAY_MS = 24 * 3_600_000;

/** Returns the error for a guild that has reached a limit of the current day (UTC); Retry-After is the rest of the day. */
export function dailyLimitReached(message: string, now: Date): ApiError {
  return new ApiError('CONFLICT', { message, retryAfter: (DAY_MS - (now.getTime() % DAY_MS)) / 1000 });
}
