import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import type { Address } from '../downstream/client-address.ts';
import { networksOf } from '../downstream/client-networks.ts';
import { maxEntries } from '../resilience/max-entries.ts';

/** The maximum number of API key lookups per second that one client address may cause for one guild. */
const PER_GUILD = 5;
/** The maximum number of API key lookups per second that one client address may cause. */
const PER_ADDRESS = 100;
/** The maximum number of token buckets of each kind, of about 100 bytes each. */
const MAX_BUCKETS = 50_000;
/** The time in which an empty token bucket fills up, in milliseconds. */
const FILL_MS = 1_000;

/**
 * Limits lookups of unknown API keys from addresses with too many failed authentications. There is a token bucket for
 * each address, and one for each pair of address and guild; IPv6 addresses share the buckets of their /64, and those of
 * their /48 at ten times the rate. Token buckets are used because an attacker would exhaust each fixed window at its
 * start, and a valid client that retries every second would always find it exhausted. At most `maxBuckets` buckets of
 * each kind are stored. An evicted bucket counts as full.
 */
export class KeyLookupRates {
  readonly #clock: Clock;
  readonly #perGuild: number;
  /** When the token bucket of each address will be full again, in Unix milliseconds. */
  readonly #byAddress: LRUCache<string, number>;
  readonly #byGuild: LRUCache<string, number>;

  constructor(clock: Clock, maxBuckets = MAX_BUCKETS, perGuild = PER_GUILD) {
    this.#clock = clock;
    this.#perGuild = perGuild;
    this.#byAddress = new LRUCache(maxEntries(maxBuckets));
    this.#byGuild = new LRUCache(maxEntries(maxBuckets));
  }

  /** Returns true if one more lookup of an API key is allowed. Its token is taken from all buckets or from none. */
  take(address: Address | undefined, guildId: string): boolean {
    const now = this.#clock.now();
    const buckets = networksOf(address).flatMap(({ id, factor }) => [
      { buckets: this.#byAddress, id: String(id), costMs: FILL_MS / (PER_ADDRESS * factor) },
      { buckets: this.#byGuild, id: `${id} ${guildId}`, costMs: FILL_MS / (this.#perGuild * factor) },
    ]);
    const taken = buckets.map((bucket) => ({ ...bucket, fullAt: this.#fullAt(bucket, now) + bucket.costMs }));
    if (taken.some(({ fullAt }) => fullAt > now + FILL_MS)) return false;
    for (const { buckets, id, fullAt } of taken) buckets.set(id, fullAt);
    return true;
  }

  /**
   * Returns when a token bucket will be full again. A stored time too far ahead is ignored, because the clock was set
   * back since.
   */
  #fullAt({ buckets, id }: { buckets: LRUCache<string, number>; id: string }, now: number): number {
    const fullAt = buckets.peek(id) ?? now;
    return fullAt > now + FILL_MS ? now : Math.max(fullAt, now);
  }
}
