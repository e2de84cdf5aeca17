import { type Address, type Network, networkOf } from '../downstream/client-address.ts';

/** Addresses that are counted together, and by how much the limits of one address are multiplied for them. */
export interface ClientNetwork {
  readonly id: Network;
  readonly factor: number;
}

/** Hex digits of an IPv6 /48, which some providers give a customer in place of a /64 (RFC 6177). */
const SITE_DIGITS = 12;
const SITE_FACTOR = 10;

/** The networks that an address is counted in: of IPv6 its /64, and its /48 with ten times the limits. */
export function networksOf(address: Address | undefined): ClientNetwork[] {
  const id = networkOf(address);
  const network = { id, factor: 1 };
  if (typeof id === 'number' || id === '') return [network];
  return [network, { id: id.slice(0, SITE_DIGITS), factor: SITE_FACTOR }];
}
