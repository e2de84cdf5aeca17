import { type Address, type Network, networkOf } from './client-address.ts';

/** A group of client addresses that are counted together. The limits of a single address are multiplied by `factor`. */
export interface ClientNetwork {
  readonly id: Network;
  readonly factor: number;
}

/** The number of hex digits of an IPv6 /48, which some providers assign to a customer instead of a /64 (RFC 6177). */
const SITE_DIGITS = 12;
const SITE_FACTOR = 10;

/**
 * Returns the networks that a client address counts towards. For IPv6: its /64, and its /48 with ten times the limits.
 */
export function networksOf(address: Address | undefined): ClientNetwork[] {
  const id = networkOf(address);
  const site = siteOf(id);
  const network = { id, factor: 1 };
  return site === undefined ? [network] : [network, { id: site, factor: SITE_FACTOR }];
}

/** Returns the /48 of an IPv6 /64; undefined for an IPv4 address and for clients without a valid address. */
export function siteOf(network: Network): Network | undefined {
  return typeof network === 'string' && network !== '' ? network.slice(0, SITE_DIGITS) : undefined;
}
