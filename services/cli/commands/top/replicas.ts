import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Process } from '../../access.ts';

/** Resolves a host name to its addresses; rejects if it has none. */
export type Lookup = (name: string) => Promise<readonly { address: string; family: number }[]>;

const lookupInDns: Lookup = (name) => lookup(name, { all: true, order: 'ipv4first' });

/**
 * Returns the replicas of a process: one for each address of a host name. An IP address and `localhost` are one process.
 */
export async function replicasOf(process: Process, find: Lookup = lookupInDns): Promise<Process[]> {
  const url = new URL(process.url);
  if (url.hostname === 'localhost' || url.hostname.startsWith('[') || isIP(url.hostname)) return [process];
  const found = await find(url.hostname);
  // A replica may have an IPv4 and an IPv6 address, so only the addresses of one family are used.
  const addresses = found.filter(({ family }) => family === found[0]?.family).map(({ address }) => address);
  // Sorted, because DNS returns them in any order and the rows of the view should not move.
  return addresses.toSorted().map((address) => {
    url.hostname = isIP(address) === 6 ? `[${address}]` : address;
    return { name: process.name, url: url.origin };
  });
}
