import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kit/errors.ts';
import { dropOldest } from '#kit/resilience/bounded.ts';
import type { ToldBucket } from '../budget/limits.ts';

/** After a bucket is full again nothing is known until an answer tells; not longer than a call may take. */
const UNTOLD_MS = 5_000;
/** Answers that tell of ends so near to one another tell of the same window. */
const SAME_MS = 250;
const MOST = 10_000;

interface Bucket {
  limit: number;
  remaining: number;
  /** By performance.now(). */
  endsAt: number;
}

/** The platform's own rate limits as its answers tell of them, so that a call waits instead of being refused. */
export class Buckets {
  readonly #buckets = new Map<string, Bucket>();
  readonly #shareOf: (granted: number) => number;

  /** `shareOf` says how much this process may use of what the platform grants to all of them. */
  constructor(shareOf: (granted: number) => number = (granted) => granted) {
    this.#shareOf = shareOf;
  }

  /** Waits until the limit lets a call through; UNAVAILABLE when that is after `until` (performance.now()). */
  async take(limit: string, until: number): Promise<void> {
    for (;;) {
      const bucket = this.#buckets.get(limit);
      const now = performance.now();
      if (!bucket) return;
      if (bucket.endsAt <= now)
        Object.assign(bucket, { remaining: this.#shareOf(bucket.limit), endsAt: now + UNTOLD_MS });
      if (bucket.remaining > 0) {
        bucket.remaining -= 1;
        return;
      }
      if (bucket.endsAt > until) {
        const retryAfter = (bucket.endsAt - now) / 1000;
        throw new ApiError('UNAVAILABLE', { message: 'The chat platform takes no more calls for now', retryAfter });
      }
      await sleep(Math.max(1, bucket.endsAt - now));
    }
  }

  /** Takes note of what a response told. */
  note(limit: string, { limit: most, remaining, resetMs }: ToldBucket): void {
    const now = performance.now();
    const endsAt = now + resetMs;
    const known = this.#buckets.get(limit);
    // Of calls under way at the same time, the answer that tells of less is the later one.
    const isSame = known !== undefined && known.endsAt > now && Math.abs(known.endsAt - endsAt) < SAME_MS;
    this.#buckets.set(limit, {
      limit: most,
      remaining: isSame ? Math.min(known.remaining, remaining) : remaining,
      endsAt,
    });
    if (this.#buckets.size > MOST) this.#forget(now);
  }

  #forget(now: number): void {
    for (const [limit, { endsAt }] of this.#buckets) if (endsAt <= now) this.#buckets.delete(limit);
    dropOldest(this.#buckets, MOST);
  }
}

/** What a response tells of its bucket; undefined where it tells nothing. */
export function readBucket(headers: Headers): ToldBucket | undefined {
  const [limit, remaining, seconds] = ['limit', 'remaining', 'reset-after'].map((name) =>
    Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN),
  ) as [number, number, number];
  if (![limit, remaining, seconds].every((number) => Number.isFinite(number) && number >= 0)) return undefined;
  return { limit: Math.max(1, limit), remaining, resetMs: seconds * 1000 };
}
