import { LRUCache } from 'lru-cache';
import type { Clock } from '#kit/clock.ts';
import type { Rejection } from '#kit/errors.ts';
import { WINDOW_MS } from '#kit/limits/limiter.ts';
import { rateLimited } from '#kit/limits/response.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';

/** The maximum number of stored counts, of about 100 bytes each. */
const MAX_SUBJECTS = 50_000;

/** The limits of the console itself, in requests per minute. */
export const CONSOLE_LIMITS = {
  /** Sign-ins that begin or end, and one-time links, of one address. */
  sign_in: 20,
  /** Requests with an unknown session, of one address. */
  unknown_session: 60,
  /** Requests of one session. Each costs a call of auth. */
  session: 600,
  /** Creations and rotations of keys, and erasures, by one person. */
  sensitive: 10,
  /** Other changes of keys and of access by one person, each of which the audit keeps for years. */
  changes: 60,
} as const;

export type ConsoleLimit = keyof typeof CONSOLE_LIMITS;

/**
 * Counts requests in this process in windows of a minute. The counts that were increased longest ago are evicted first, so that
 * memory is bounded.
 */
export class Windows {
  readonly #clock: Clock;
  readonly #counts: LRUCache<string, number>;
  #window = 0;

  constructor(clock: Clock, maxSubjects = MAX_SUBJECTS) {
    this.#clock = clock;
    this.#counts = new LRUCache(maxEntries(maxSubjects));
  }

  /** Counts a request of `subject`, such as an address. Returns RATE_LIMITED above the limit. */
  count(category: ConsoleLimit, subject: string): Rejection {
    const resetMs = this.#enterWindow();
    const key = `${category} ${subject}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    const limit = CONSOLE_LIMITS[category];
    if (count > limit) return tooMany(category, resetMs);
    this.#counts.set(key, count);
    return undefined;
  }

  /** Returns RATE_LIMITED if `subject` has reached the limit, without counting. */
  check(category: ConsoleLimit, subject: string): Rejection {
    const resetMs = this.#enterWindow();
    const count = this.#counts.get(`${category} ${subject}`) ?? 0;
    return count >= CONSOLE_LIMITS[category] ? tooMany(category, resetMs) : undefined;
  }

  #enterWindow(): number {
    const now = this.#clock.now();
    const window = Math.floor(now / WINDOW_MS);
    if (window !== this.#window) this.#counts.clear();
    this.#window = window;
    return (window + 1) * WINDOW_MS - now;
  }
}

function tooMany(category: ConsoleLimit, resetMs: number): Rejection {
  const limit = CONSOLE_LIMITS[category];
  const message = (seconds: number) => `Too many requests: ${limit} in a minute; try again in ${seconds} seconds`;
  return rateLimited({ category, limit, resetMs }, message);
}
