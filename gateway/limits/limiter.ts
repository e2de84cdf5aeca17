import { type Category, KEY_CAP_CATEGORY, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Awaitable } from '../and-then.ts';

export const WINDOW_MS = WINDOW_SECONDS * 1000;

/** How many requests of one subject may pass in a window. */
export interface Limit {
  category: Category | typeof KEY_CAP_CATEGORY;
  limit: number;
  /** Whose requests are counted together: a guild's ID or a key's. */
  subject: string;
}

/** Where a limit stands after a decision. */
export interface Counted {
  category: Limit['category'];
  limit: number;
  /** Requests that may still pass in this window; not below 0. */
  remaining: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/** `degraded`: this process decided by what it knows, since Redis did not answer. */
export type Mode = 'exact' | 'degraded';

/** In `states`, one for each limit in their order. A refused request was counted by none of them. */
export type Decision = { mode: Mode; states: Counted[] } & ({ allowed: true } | { allowed: false; refusedBy: Counted });

export interface Limiter {
  /** Decides all limits of one request in one step: all pass and all are counted, or none is. Never rejects. */
  decide(guildId: string, limits: readonly Limit[]): Awaitable<Decision>;
}

/** The state that callers are told: the one with least remaining; a category before the key's own cap. */
export function tightest(states: readonly Counted[]): Counted | undefined {
  let least = states[0];
  for (const state of states) {
    if (least === undefined || state.remaining > least.remaining) continue;
    const isTie = state.remaining === least.remaining;
    if (!isTie || least.category === KEY_CAP_CATEGORY) least = state;
  }
  return least;
}

/** A decision from the counts after it, one for each limit. */
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
  const refusedBy = tightest(states);
  return allowed || !refusedBy ? { allowed: true, mode, states } : { allowed: false, mode, states, refusedBy };
}

/** What a limit is counted under. */
export function limitKey(guildId: string, { category, subject }: Limit): string {
  return `limit:${guildTag(guildId)}:${category}:${subject}`;
}

/** The guild in braces: keeps all limits of a request in one slot of a Redis Cluster. */
export function guildTag(guildId: string): string {
  return `{${guildId}}`;
}
