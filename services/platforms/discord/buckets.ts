import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { ApiError } from '#kit/errors.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import { ASSUMED_WINDOW_MS, SAME_WINDOW_MS } from '../budget/limits.ts';
import type { RateLimitBucket } from '../budget/unstored-notes.ts';

const MAX_BUCKETS = 10_000;

interface Bucket {
  limit: number;
  remaining: number;
  /** When the rate limit window of the bucket ends, by performance.now(). */
  endsAt: number;
}

/**
 * Stores the state of the chat platform's rate limits as this process knows it from responses, so that a call waits
 * instead of getting a 429.
 */
export class Buckets {
  readonly #buckets = new LRUCache<string, Bucket>(maxEntries(MAX_BUCKETS));
  readonly #shareOf: (granted: number) => number;

  /** `shareOf` returns how much of a rate limit that all processes share this process may use. */
  constructor(shareOf: (granted: number) => number = (granted) => granted) {
    this.#shareOf = shareOf;
  }

  /**
   * Waits until the rate limit allows a call. Throws UNAVAILABLE if that would be after `until` (performance.now()).
   */
  async acquire(limit: string, until: number): Promise<void> {
    for (;;) {
      const bucket = this.#buckets.get(limit);
      const now = performance.now();
      if (!bucket) return;
      if (bucket.endsAt <= now)
        Object.assign(bucket, { remaining: this.#shareOf(bucket.limit), endsAt: now + ASSUMED_WINDOW_MS });
      if (bucket.remaining > 0) {
        bucket.remaining -= 1;
        return;
      }
      if (bucket.endsAt > until) {
        const retryAfter = (bucket.endsAt - now) / 1000;
        const message = 'The chat platform limits our request rate, try again later';
        throw new ApiError('UNAVAILABLE', { message, retryAfter });
      }
      await sleep(Math.max(1, bucket.endsAt - now));
    }
  }

  /** Stores the state of a rate limit bucket that a response reported. */
  note(limit: string, { limit: max, remaining, resetMs }: RateLimitBucket): void {
    const now = performance.now();
    const endsAt = now + resetMs;
    const known = this.#buckets.get(limit);
    // Among responses about the same window, the one with the lower number of remaining calls is the newer one.
    const isSame = known !== undefined && known.endsAt > now && Math.abs(known.endsAt - endsAt) < SAME_WINDOW_MS;
    this.#buckets.set(limit, {
      limit: max,
      remaining: isSame ? Math.min(known.remaining, remaining) : remaining,
      endsAt,
    });
  }
}

/** Returns the rate limit bucket that a response reports in its headers; undefined if the response reports none. */
export function readBucket(headers: Headers): RateLimitBucket | undefined {
  const [limit, remaining, seconds] = ['limit', 'remaining', 'reset-after'].map((name) =>
    Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN),
  ) as [number, number, number];
  if (![limit, remaining, seconds].every((number) => Number.isFinite(number) && number >= 0)) return undefined;
  return { limit: Math.max(1, limit), remaining, resetMs: seconds * 1000 };
}
