import type { ServerResponse } from 'node:http';
import { WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Clock } from '../clock.ts';
import { ApiError } from '../errors.ts';
import { addResponseHeader } from '../http/response-headers.ts';
import type { LimitState } from './limiter.ts';

/** Adds the state of a rate limit to the response headers, unless the headers are already sent. */
export function addLimitHeaders(
  { limit, remaining, resetMs }: Pick<LimitState, 'limit' | 'remaining' | 'resetMs'>,
  clock: Clock,
  response: ServerResponse,
): void {
  // The gateway may already have responded to a protocol error in the request's body.
  if (response.headersSent) return;
  addResponseHeader(response, 'x-ratelimit-limit', limit);
  addResponseHeader(response, 'x-ratelimit-remaining', remaining);
  // Windows end on whole seconds of Redis's clock. Rounding removes the time since Redis made the decision.
  addResponseHeader(response, 'x-ratelimit-reset', Math.round((clock.now() + resetMs) / 1000));
}

/** Returns RATE_LIMITED for a request that a rate limit of the API rejected. */
export function limitExceeded(state: LimitState): ApiError {
  return rateLimited(
    state,
    (retryAfter) =>
      `Rate limit exceeded: ${state.limit} requests in ${WINDOW_SECONDS} seconds; try again in ${retryAfter} seconds`,
  );
}

/** Returns RATE_LIMITED for a rate limit whose window ends in `resetMs` milliseconds. */
export function rateLimited(
  { category, limit, resetMs }: { category: string; limit: number; resetMs: number },
  messageOf: (retryAfterSeconds: number) => string,
): ApiError {
  const retryAfter = Math.max(1, Math.ceil(resetMs / 1000));
  const details = { category, limit, window: WINDOW_SECONDS, retryAfter };
  return new ApiError('RATE_LIMITED', { message: messageOf(retryAfter), details, retryAfter });
}
