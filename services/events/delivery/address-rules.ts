import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** The IPv4 networks that are not public (IANA's registry of special-purpose addresses, multicast, reserved). */
const FORBIDDEN_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // The host of a virtual machine in Azure answers on this address, although the network around it is public.
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(parseNetwork);

/** The only IPv6 network in which public addresses are assigned; mapped and NAT64 addresses are outside of it. */
const GLOBAL_IPV6 = parseNetwork('2000::/3');

/** The networks in GLOBAL_IPV6 that are not public: Teredo, benchmarks, ORCHID, documentation, 6to4, AS112. */
const FORBIDDEN_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'].map(parseNetwork);

/** Addresses that a NAT64 gateway translates to the IPv4 address in their last four bytes. */
const NAT64 = parseNetwork('64:ff9b::/96');
const IPV4_BYTES = 4;

/** Decides which IP addresses webhooks may be sent to. */
export class AddressRules {
  readonly #allowed: Network[];

  /** Allows the given IP addresses and CIDRs, besides public addresses. Throws if one of them is malformed. */
  constructor(allowedNetworks: readonly string[] = []) {
    this.#allowed = allowedNetworks.map(parseNetwork);
  }

  /** True if webhooks may be sent to this address: it is public, or in an allowed network. False if it is malformed. */
  permits(text: string): boolean {
    const address = parseAddress(text);
    return address !== undefined && this.#permits(address);
  }

  #permits(address: Address): boolean {
    const isAllowed = isIn(address, this.#allowed);
    if (address instanceof ipaddr.IPv4) return isAllowed || !isIn(address, FORBIDDEN_IPV4);
    // A mapped address is a way to write an IPv4 address that nobody needs, so only an allowed network permits it.
    if (address.isIPv4MappedAddress()) return isAllowed || isIn(address.toIPv4Address(), this.#allowed);
    // Allowing the NAT64 network must not open private IPv4 networks behind the NAT64 gateway.
    if (isIn(address, [NAT64])) return isAllowed && this.#permits(lastBytes(address));
    return isAllowed || (isIn(address, [GLOBAL_IPV6]) && !isIn(address, FORBIDDEN_IPV6));
  }
}

/** Parses an address as the system would read it. Returns undefined for other spellings and for scoped addresses. */
function parseAddress(text: string): Address | undefined {
  if (text.includes('%')) return undefined;
  if (isIP(text) === 4) return ipaddr.IPv4.parse(text);
  // Uses the URL parser, because ipaddr.js misreads IPv6 addresses that end in dotted decimals, such as ::10.0.0.1.
  const canonical = isIP(text) === 6 ? URL.parse(`http://[${text}]`)?.hostname.slice(1, -1) : undefined;
  return canonical === undefined ? undefined : ipaddr.IPv6.parse(canonical);
}

function parseNetwork(entry: string): Network {
  if (!entry.includes('/')) return parseNetwork(`${entry}/${entry.includes(':') ? 128 : 32}`);
  return ipaddr.parseCIDR(entry);
}

const isIn = (address: Address, networks: readonly Network[]) =>
  networks.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));

const lastBytes = (address: ipaddr.IPv6) => new ipaddr.IPv4(address.toByteArray().slice(-IPV4_BYTES));
