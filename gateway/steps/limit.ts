import type { ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import type { Rejection } from '#kit/errors.ts';
import { type Limit, type Limiter, tightest } from '#kit/limits/limiter.ts';
import { addLimitHeaders, limitExceeded } from '#kit/limits/response.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { CATEGORIES, KEY_CAP_CATEGORY } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';

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
