import type { ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { ApiError, type Rejection } from '#kit/errors.ts';
import { addResponseHeader } from '#kit/http/response-headers.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { CATEGORIES, KEY_CAP_CATEGORY, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';
import { type Awaitable, andThen } from '../and-then.ts';
import { type Counted, type Limit, type Limiter, tightest } from '../limits/limiter.ts';

/** Counts a request against all its limits in one step and tells the tightest in headers. RATE_LIMITED. */
export function checkLimits(
  route: Route,
  grant: KeyGrant,
  limiter: Limiter,
  clock: Clock,
  response: ServerResponse,
): Awaitable<Rejection> {
  const limits = limitsOf(route, grant);
  if (limits.length === 0) return undefined;
  return andThen(limiter.decide(grant.guildId, limits), (decision) => {
    const told = decision.allowed ? tightest(decision.states) : decision.refusedBy;
    if (told) tellLimit(told, clock, response);
    return decision.allowed ? undefined : limitExceeded(decision.refusedBy);
  });
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

/** Tells a limit in the headers of an answer that has not begun. */
export function tellLimit(
  { limit, remaining, resetMs }: Pick<Counted, 'limit' | 'remaining' | 'resetMs'>,
  clock: Clock,
  response: ServerResponse,
): void {
  // A fault in the rest of its body may have been the answer meanwhile.
  if (response.headersSent) return;
  addResponseHeader(response, 'x-ratelimit-limit', limit);
  addResponseHeader(response, 'x-ratelimit-remaining', remaining);
  // Windows end on whole seconds of Redis's clock; rounding takes the way to here out again.
  addResponseHeader(response, 'x-ratelimit-reset', Math.round((clock.now() + resetMs) / 1000));
}

function limitExceeded(state: Counted): ApiError {
  return rateLimited(
    state,
    (retryAfter) =>
      `Rate limit exceeded: ${state.limit} requests in ${WINDOW_SECONDS} seconds; try again in ${retryAfter} seconds`,
  );
}

/** The last refusal by each category: of a flood it is the same for a second, and an error is dear to make. */
const lastRefusals = new Map<string, ApiError>();

/**
 * RATE_LIMITED by a limit of a category, whose window ends in `resetMs`. The message may tell of the category, its limit
 * and the seconds alone: others are told the same.
 */
export function rateLimited(
  { category, limit, resetMs }: { category: string; limit: number; resetMs: number },
  messageOf: (retryAfterSeconds: number) => string,
): ApiError {
  const retryAfter = Math.max(1, Math.ceil(resetMs / 1000));
  const last = lastRefusals.get(category);
  if (last?.retryAfter === retryAfter && last.details['limit'] === limit) return last;
  const details = { category, limit, window: WINDOW_SECONDS, retryAfter };
  const refusal = new ApiError('RATE_LIMITED', { message: messageOf(retryAfter), details, retryAfter });
  lastRefusals.set(category, refusal);
  return refusal;
}
