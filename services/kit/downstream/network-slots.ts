import type { Network } from './client-address.ts';
import { siteOf } from './client-networks.ts';
import { SharedSlots } from './slots.ts';

/** The shares that all addresses of an IPv6 /48 take together. A share is a tenth or a quarter, so they cannot take all slots. */
const SITE_SHARES = 3;

/**
 * A limited number of slots, of which each client address may take a share: an IPv4 address, or an IPv6 /64. All /64s of a
 * /48, which one customer may have, take three shares together.
 */
export class NetworkSlots {
  readonly #networks: SharedSlots<Network>;
  readonly #sites: SharedSlots<Network>;

  constructor(max: number, maxPerNetwork: number) {
    this.#networks = new SharedSlots(max, maxPerNetwork);
    this.#sites = new SharedSlots(Number.POSITIVE_INFINITY, SITE_SHARES * maxPerNetwork);
  }

  /** The number of slots that are taken now. */
  get taken(): number {
    return this.#networks.taken;
  }

  /** Takes a slot. Returns false if no slot is left, or if the network or its /48 already has its whole share. */
  take(network: Network): boolean {
    if (!this.#networks.take(network)) return false;
    const site = siteOf(network);
    if (site === undefined || this.#sites.take(site)) return true;
    this.#networks.release(network);
    return false;
  }

  /** Releases one slot of the network, which must have at least one. */
  release(network: Network): void {
    this.#networks.release(network);
    const site = siteOf(network);
    if (site !== undefined) this.#sites.release(site);
  }
}
