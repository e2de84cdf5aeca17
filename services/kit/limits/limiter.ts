import {
  CATEGORIES,
  type Category,
  INTERACTION_LIMITS,
  type InteractionCategory,
  KEY_CAP_CATEGORY,
  WINDOW_SECONDS,
} from '#proto/rest/limits.ts';

export const WINDOW_MS = WINDOW_SECONDS * 1000;

/** The categories of all rate limits. */
export const LIMIT_CATEGORIES = [
  ...Object.keys(CATEGORIES),
  ...Object.keys(INTERACTION_LIMITS),
  KEY_CAP_CATEGORY,
] as readonly Limit['category'][];

/** A rate limit: the number of requests of one subject that a window allows. */
export interface Limit {
  category: Category | InteractionCategory | typeof KEY_CAP_CATEGORY;
  limit: number;
  /** The ID of the guild, the API key or the member whose requests are counted together. */
  subject: string;
}

/** The state of a rate limit after a decision. */
export interface LimitState {
  category: Limit['category'];
  limit: number;
  /** The number of requests that the window still allows; never below 0. */
  remaining: number;
  /** Milliseconds until the window of the rate limit ends. */
  resetMs: number;
}

/**
 * How a rate limit was decided. `exact`: by the counters in Redis. `degraded`: by the counters of this process alone,
 * because Redis did not respond in time.
 */
export type Mode = 'exact' | 'degraded';

/**
 * The decision on a request. `states` has one entry for each limit, in the order of the limits. A rejected request
 * counts towards no limit.
 */
export type Decision = { mode: Mode; states: LimitState[] } & (
  | { allowed: true }
  | { allowed: false; rejectedBy: LimitState }
);

export interface Limiter {
  /**
   * Decides all rate limits of one request in one step: if every limit allows the request, each counts it; otherwise
   * none does.
   */
  decide(guildId: string, limits: readonly Limit[]): Decision | Promise<Decision>;
}

/**
 * Returns the limit state for the response headers: the one with the fewest remaining requests; of two equal ones, the
 * category's.
 */
export function tightest(states: readonly LimitState[]): LimitState | undefined {
  let lowest = states[0];
  for (const state of states) {
    if (lowest === undefined || state.remaining > lowest.remaining) continue;
    const isTie = state.remaining === lowest.remaining;
    if (!isTie || lowest.category === KEY_CAP_CATEGORY) lowest = state;
  }
  return lowest;
}

/** Makes a decision from the remaining requests of each limit. */
export function toDecision(
  limits: readonly Limit[],
  { allowed, mode, resetMs, remaining }: { allowed: boolean; mode: Mode; resetMs: number; remaining: number[] },
): Decision {
  const states = limits.map(({ category, limit }, index) => ({
    category,
    limit,
    remaining: Math.max(0, remaining[index] ?? 0),
    resetMs,
  }));
  const rejectedBy = tightest(states);
  return allowed || !rejectedBy ? { allowed: true, mode, states } : { allowed: false, mode, states, rejectedBy };
}

/** Returns the Redis key of the counter of a rate limit. */
export function limitKey(guildId: string, { category, subject }: Limit): string {
  return `limit:${guildTag(guildId)}:${category}:${subject}`;
}

/** Returns the guild's ID as a hash tag, which keeps all limits of a request in one slot of a Redis Cluster. */
export function guildTag(guildId: string): string {
  return `{${guildId}}`;
}
