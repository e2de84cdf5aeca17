import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { trimSpacesAndTabs } from './headers.ts';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** A list of CIDRs and single IP addresses that other addresses can be checked against. */
export class AddressList {
  readonly #ranges: Range[];

  /** Throws if one of the entries is neither an IP address nor a CIDR. */
  constructor(entries: readonly string[]) {
    this.#ranges = entries.map(parseRange);
  }

  has(address: Address): boolean {
    return this.#ranges.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));
  }
}

/** Parses an IP address. IPv4-mapped IPv6 (`::ffff:`) becomes IPv4. Returns undefined if the address is malformed. */
export function parseAddress(text: string): Address | undefined {
  // ipaddr.js also accepts 10.1, 0x7f.1 and ::ffff:010.1.1.1, which must not be accepted from a header.
  if (isIP(text) === 0) return undefined;
  // ipaddr.js parses ::10.0.0.1 as the IPv4 address 10.0.0.1, which is wrong (RFC 4291, section 2.5.5.1).
  return text.includes('%') || COMPATIBLE.test(text) ? undefined : ipaddr.process(text);
}

const COMPATIBLE = /^::\d+\.\d+\.\d+\.\d+$/;

/**
 * Returns the client's address. That is the address of the socket, unless the socket belongs to a trusted proxy: then
 * it is the first address in X-Forwarded-For, from the right, that is not a trusted proxy. Returns undefined if
 * X-Forwarded-For is malformed or has too many trusted proxies.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trusted: AddressList,
): Address | undefined {
  let address = peerAddress(socketAddress ?? '');
  if (forwardedFor === undefined) return address;
  let end = forwardedFor.length;
  for (let hops = 0; address && trusted.has(address) && end >= 0; hops++) {
    if (hops === MAX_TRUSTED_HOPS) return undefined;
    const comma = forwardedFor.lastIndexOf(',', end - 1);
    const start = end === 0 ? 0 : comma + 1;
    address = parseAddress(withoutPort(trimSpacesAndTabs(forwardedFor.slice(start, end))));
    end = start - 1;
  }
  return address;
}

/**
 * The maximum number of trusted proxies in X-Forwarded-For. A longer list counts as malformed, because somebody only
 * sends it to cost CPU time.
 */
const MAX_TRUSTED_HOPS = 32;

/**
 * Parses the remote address of a socket, which may have an IPv6 zone. Dual-stack sockets report IPv4 as
 * `::ffff:a.b.c.d`.
 */
export function peerAddress(text: string): Address | undefined {
  return parseAddress(text.replace(/%.*$|^::ffff:(?=\d+\.)/g, ''));
}

/**
 * The key by which requests of a client address are counted: the 32 bits of an IPv4 address, or the /64 of an IPv6
 * address in hex.
 */
export type Network = number | string;

/**
 * The number of bytes of an IPv6 /64. Providers assign a whole /64 to one customer, who can use any address in it (RFC
 * 6177).
 */
const IPV6_NETWORK_BYTES = 8;

/** Returns the network that counts as one client address. Clients without a valid address are counted together. */
export function networkOf(address: Address | undefined): Network {
  if (!address) return '';
  if (!('octets' in address)) return Buffer.from(address.toByteArray().slice(0, IPV6_NETWORK_BYTES)).toString('hex');
  const [first = 0, second = 0, third = 0, fourth = 0] = address.octets;
  return (first << 24) | (second << 16) | (third << 8) | fourth;
}

/** Removes the port that some proxies add to the client's address in X-Forwarded-For. */
function withoutPort(hop: string): string {
  if (!hop.includes(':') && !hop.startsWith('[')) return hop;
  const [, bracketed] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(hop) ?? [];
  if (bracketed) return bracketed;
  const [, v4] = /^([0-9.]+):\d{1,5}$/.exec(hop) ?? [];
  return v4 ?? hop;
}

function parseRange(entry: string): Range {
  if (ipaddr.isValidCIDR(entry)) {
    const [network, bits] = ipaddr.parseCIDR(entry);
    const mapped = network.kind() === 'ipv6' && (network as ipaddr.IPv6).isIPv4MappedAddress() && bits >= 96;
    return mapped ? [(network as ipaddr.IPv6).toIPv4Address(), bits - 96] : [network, bits];
  }
  const address = ipaddr.process(entry);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
