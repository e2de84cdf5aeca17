import { LRUCache } from 'lru-cache';
import { AUTHENTICATION_LIMIT, type SIGNATURE_LIMIT } from '#proto/rest/limits.ts';
import type { Clock } from '../clock.ts';
import type { Address } from '../downstream/client-address.ts';
import { type ClientNetwork, networksOf } from '../downstream/client-networks.ts';
import { maxEntries } from '../resilience/max-entries.ts';
import { WINDOW_MS } from './limiter.ts';

/** The maximum number of stored counts of failed authentications, of about 100 bytes each. */
const MAX_NETWORKS = 100_000;

/** The number of failures that a window allows one client address. */
export type FailureLimit = typeof AUTHENTICATION_LIMIT | typeof SIGNATURE_LIMIT;

export interface FailureState {
  /** True if this failed authentication exceeds the limit, so that the response is 429. */
  exhausted: boolean;
  category: FailureLimit['category'];
  limit: number;
  remaining: number;
  /** Milliseconds until the window of the limit on failed authentications ends. */
  resetMs: number;
}

/**
 * Counts failed authentications in this gateway by client address; IPv6 addresses by /64, and by /48 with ten times the
 * limit. At most `maxNetworks` counts are stored, and the count that was increased longest ago is evicted first.
 * Addresses never share a count for lack of memory, because that would lock out innocent clients.
 */
export class AuthenticationFailures {
  readonly #clock: Clock;
  readonly #limit: FailureLimit;
  readonly #counts: LRUCache<ClientNetwork['id'], number>;
  #window = 0;

  constructor(clock: Clock, maxNetworks = MAX_NETWORKS, limit: FailureLimit = AUTHENTICATION_LIMIT) {
    this.#clock = clock;
    this.#limit = limit;
    this.#counts = new LRUCache(maxEntries(maxNetworks));
  }

  /**
   * True if the next failed authentication gets 429. Lookups of unknown API keys from this address are then rate
   * limited.
   */
  isExhausted(address: Address | undefined): boolean {
    this.#enterWindow();
    return networksOf(address).some((network) => this.#count(network) >= this.#limitOf(network));
  }

  /** Counts a failed authentication. `exhausted` is true for each failure above the limit. */
  count(address: Address | undefined): FailureState {
    const resetMs = this.#enterWindow();
    const networks = networksOf(address);
    for (const network of networks) this.#counts.set(network.id, this.#count(network) + 1);
    return this.#state(networks, resetMs);
  }

  /** Returns the failed authentications of an address without counting anything. */
  state(address: Address | undefined): FailureState {
    const resetMs = this.#enterWindow();
    return this.#state(networksOf(address), resetMs);
  }

  #state(networks: readonly ClientNetwork[], resetMs: number): FailureState {
    const remaining = Math.min(...networks.map((network) => this.#limitOf(network) - this.#count(network)));
    return { ...this.#limit, exhausted: remaining < 0, remaining: Math.max(0, remaining), resetMs };
  }

  #limitOf({ factor }: ClientNetwork): number {
    return this.#limit.limit * factor;
  }

  #count({ id }: ClientNetwork): number {
    return this.#counts.peek(id) ?? 0;
  }

  /** Resets all counts of failures if a new window has begun. Returns the milliseconds until the window ends. */
  #enterWindow(): number {
    const now = this.#clock.now();
    const window = Math.floor(now / WINDOW_MS);
    if (window !== this.#window) {
      this.#window = window;
      this.#counts.clear();
    }
    return (window + 1) * WINDOW_MS - now;
  }
}
