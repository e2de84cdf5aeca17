import { dropOldest } from '#kit/bounded.ts';
import type { Clock } from '#kit/clock.ts';
import { AUTHENTICATION_LIMIT } from '#proto/rest/limits.ts';
import { type Address, type Network, networkOf } from '../client-address.ts';
import { WINDOW_MS } from './limiter.ts';

/** Some 100 bytes each. */
const MAX_ADDRESSES = 100_000;

export interface FailureState {
  /** Whether this refusal is one too many and told as 429. */
  exhausted: boolean;
  category: typeof AUTHENTICATION_LIMIT.category;
  limit: number;
  remaining: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/**
 * Refused authentications per client address, or per /64 of IPv6, in this gateway. At most `maxAddresses` are kept;
 * the one that was not refused for longest is forgotten first, since a count shared by strangers would shut out the
 * innocent.
 */
export class AuthenticationFailures {
  readonly #clock: Clock;
  readonly #maxAddresses: number;
  readonly #counts = new Map<Network, number>();
  #window = 0;

  constructor(clock: Clock, maxAddresses = MAX_ADDRESSES) {
    this.#clock = clock;
    this.#maxAddresses = maxAddresses;
  }

  /** Whether the next refusal would be told as 429: an unknown key is then not looked up for this address. */
  isExhausted(address: Address | undefined): boolean {
    this.#enterWindow();
    return (this.#counts.get(networkOf(address)) ?? 0) >= AUTHENTICATION_LIMIT.limit;
  }

  /** Counts a refusal; `exhausted` from the one after the limit. */
  count(address: Address | undefined): FailureState {
    const resetMs = this.#enterWindow();
    const network = networkOf(address);
    const count = (this.#counts.get(network) ?? 0) + 1;
    this.#counts.delete(network);
    this.#counts.set(network, count);
    dropOldest(this.#counts, this.#maxAddresses);
    const { category, limit } = AUTHENTICATION_LIMIT;
    const remaining = Math.max(0, limit - count);
    return { exhausted: count > limit, category, limit, remaining, resetMs };
  }

  /** Milliseconds until the window ends; forgets all counts when it is a new one. */
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
