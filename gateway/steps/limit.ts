import type { ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { ApiError, type Rejection } from '#kit/errors.ts';
import { addResponseHeader } from '#kit/http/response-headers.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { CATEGORIES, KEY_CAP_CATEGORY, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';
import { type Limit, type Limiter, type LimitState, tightest } from '../limits/limiter.ts';

export interface LimitedRequest {
  route: Route;
  grant: KeyGrant;
  limiter: Limiter;
  clock: Clock;
  response: ServerResponse;
}

/**
 * Counts a request towards all of its rate limits, and adds the tightest one to the response headers. Returns
 * RATE_LIMITED if one is exhausted.
 */
export async function checkLimits({ route, grant, limiter, clock, response }: LimitedRequest): Promise<Rejection> {
  const limits = limitsOf(route, grant);
  if (limits.length === 0) return undefined;
  const decision = await limiter.decide(grant.guildId, limits);
  const shown = decision.allowed ? tightest(decision.states) : decision.rejectedBy;
  if (shown) addLimitHeaders(shown, clock, response);
  return decision.allowed ? undefined : limitExceeded(decision.rejectedBy);
}

function limitsOf(route: Route, grant: KeyGrant): Limit[] {
  const limits: Limit[] = [];
  if (route.category !== null) {
    const { limit, per } = CATEGORIES[route.category];
    limits.push({ category: route.category, limit, subject: per === 'guild' ? grant.guildId : grant.keyId });
  }
  if (grant.rateLimit > 0) {
    limits.push({ category: KEY_CAP_CATEGORY, limit: grant.rateLimit, subject: grant.keyId });
  }
  return limits;
}

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

function limitExceeded(state: LimitState): ApiError {
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
