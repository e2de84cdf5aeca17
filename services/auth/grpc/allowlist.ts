import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const MAPPED_BITS = 96;

/**
 * Returns the canonical form of an IP allowlist entry, or undefined if the entry is neither an IP address nor a CIDR
 * block. `10.1.2.3/8` becomes `10.0.0.0/8`, IPv6 is shortened, and an IPv4-mapped IPv6 address becomes IPv4, as the
 * gateway does with client addresses.
 */
export function normaliseAllowlistEntry(entry: string): string | undefined {
  const [text = '', length, ...rest] = entry.split('/');
  // isIP rejects 10.1 and 010.0.0.1. ipaddr.js accepts them, but other software reads them as different addresses.
  if (isIP(text) === 0 || text.includes('%') || rest.length > 0) return undefined;
  const given = ipaddr.parse(text);
  const address = ipaddr.process(text);
  if (length === undefined) return address.toString();
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  const bits = Number(length) - (given.kind() === address.kind() ? 0 : MAPPED_BITS);
  return network(address, bits);
}

function network(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): string | undefined {
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  const cidr = `${address.toString()}/${bits}`;
  return kind.isValidCIDR(cidr) ? `${kind.networkAddressFromCIDR(cidr).toString()}/${bits}` : undefined;
}
