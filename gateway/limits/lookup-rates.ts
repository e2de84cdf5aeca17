import type { Clock } from '#kit/clock.ts';
import { evictOldest } from '#kit/resilience/bounded.ts';
import type { Address } from '../downstream/client-address.ts';
import { networksOf } from './client-networks.ts';

/** Lookups per second of keys that claim one guild, from one address. */
const PER_GUILD = 5;
/** Lookups per second from one address. */
const PER_ADDRESS = 100;
/** Some 100 bytes each. */
const MAX_BUCKETS = 50_000;
/** A bucket that was idle for this long is full. */
const FILL_MS = 1_000;

/**
 * How often unknown keys from an address with too many failed authentications are still looked up: token buckets for
 * each address, and for each address and guild that the keys claim; of IPv6 for each /64, and with ten times the rate
 * for each /48. Buckets rather than windows, because an attacker uses up a window at its start: a valid client that
 * retries a second later would meet the same used-up moment again and again. At most `maxBuckets` are kept of each
 * kind; an evicted one is full again.
 */
export class LookupRates {
  readonly #clock: Clock;
  readonly #maxBuckets: number;
  /** By address, and by address and guild: when the bucket will be full again, in milliseconds. */
  readonly #byAddress = new Map<string, number>();
  readonly #byGuild = new Map<string, number>();

  constructor(clock: Clock, maxBuckets = MAX_BUCKETS) {
    this.#clock = clock;
    this.#maxBuckets = maxBuckets;
  }

  /** Whether one more lookup is allowed; it is taken from all buckets or from none. */
  take(address: Address | undefined, guildId: string): boolean {
    const now = this.#clock.now();
    const buckets = networksOf(address).flatMap(({ id, factor }) => [
      { buckets: this.#byAddress, id: String(id), costMs: FILL_MS / (PER_ADDRESS * factor) },
      { buckets: this.#byGuild, id: `${id} ${guildId}`, costMs: FILL_MS / (PER_GUILD * factor) },
    ]);
    const taken = buckets.map((bucket) => ({ ...bucket, fullAt: this.#fullAt(bucket, now) + bucket.costMs }));
    if (taken.some(({ fullAt }) => fullAt > now + FILL_MS)) return false;
    for (const { buckets, id, fullAt } of taken) {
      // Evicted by age of the last use.
      buckets.delete(id);
      buckets.set(id, fullAt);
      evictOldest(buckets, this.#maxBuckets);
    }
    return true;
  }

  /** A time further ahead than an empty bucket's was noted before the clock was set back. */
  #fullAt({ buckets, id }: { buckets: Map<string, number>; id: string }, now: number): number {
    const fullAt = buckets.get(id) ?? now;
    return fullAt > now + FILL_MS ? now : Math.max(fullAt, now);
  }
}
