import type { Clock } from '#kit/clock.ts';
import { evictOldest } from '#kit/resilience/bounded.ts';
import { AUTHENTICATION_LIMIT } from '#proto/rest/limits.ts';
import type { Address } from '../downstream/client-address.ts';
import { type ClientNetwork, networksOf } from './client-networks.ts';
import { WINDOW_MS } from './limiter.ts';

/** Some 100 bytes each. */
const MAX_NETWORKS = 100_000;

export interface FailureState {
  /** Whether this rejection is one too many and is returned as 429. */
  exhausted: boolean;
  category: typeof AUTHENTICATION_LIMIT.category;
  limit: number;
  remaining: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/**
 * Failed authentications per client address in this gateway; of IPv6 per /64, and per /48 with ten times the limit. At
 * most `maxNetworks` are kept. The one that has not failed for longest is evicted first, because a count that strangers
 * share would lock out innocent clients.
 */
export class AuthenticationFailures {
  readonly #clock: Clock;
  readonly #maxNetworks: number;
  readonly #counts = new Map<ClientNetwork['id'], number>();
  #window = 0;

  constructor(clock: Clock, maxNetworks = MAX_NETWORKS) {
    this.#clock = clock;
    this.#maxNetworks = maxNetworks;
  }

  /** Whether the next rejection would be a 429: unknown keys from this address are then looked up at a limited rate. */
  isExhausted(address: Address | undefined): boolean {
    this.#enterWindow();
    return networksOf(address).some((network) => this.#count(network) >= limitOf(network));
  }

  /** Counts a rejection; `exhausted` from the one after the limit. */
  count(address: Address | undefined): FailureState {
    const resetMs = this.#enterWindow();
    const networks = networksOf(address);
    for (const network of networks) {
      const count = this.#count(network) + 1;
      this.#counts.delete(network.id);
      this.#counts.set(network.id, count);
    }
    evictOldest(this.#counts, this.#maxNetworks);
    return this.#state(networks, resetMs);
  }

  /** The state of an address without counting anything. */
  state(address: Address | undefined): FailureState {
    const resetMs = this.#enterWindow();
    return this.#state(networksOf(address), resetMs);
  }

  #state(networks: readonly ClientNetwork[], resetMs: number): FailureState {
    const left = Math.min(...networks.map((network) => limitOf(network) - this.#count(network)));
    return { ...AUTHENTICATION_LIMIT, exhausted: left < 0, remaining: Math.max(0, left), resetMs };
  }

  #count({ id }: ClientNetwork): number {
    return this.#counts.get(id) ?? 0;
  }

  /** Milliseconds until the window ends; resets all counts when a new one has begun. */
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

function limitOf({ factor }: ClientNetwork): number {
  return AUTHENTICATION_LIMIT.limit * factor;
}
