import { type Address, type Network, networkOf } from '../downstream/client-address.ts';

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
  const network = { id, factor: 1 };
  if (typeof id === 'number' || id === '') return [network];
  return [network, { id: id.slice(0, SITE_DIGITS), factor: SITE_FACTOR }];
}
