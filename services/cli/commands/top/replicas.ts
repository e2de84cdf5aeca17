import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Process } from '../../access.ts';

/** Resolves a host name to its IP addresses; rejects if the name has none. */
export type Lookup = (name: string) => Promise<readonly { address: string; family: number }[]>;

const lookupInDns: Lookup = (name) => lookup(name, { all: true, order: 'ipv4first' });

/**
 * Returns the replicas of a process: one replica for each IP address of its host name. An IP address or `localhost`
 * stands for one replica.
 */
export async function replicasOf(process: Process, find: Lookup = lookupInDns): Promise<Process[]> {
  const url = new URL(process.url);
  if (url.hostname === 'localhost' || url.hostname.startsWith('[') || isIP(url.hostname)) return [process];
  const found = await find(url.hostname);
  // A replica may have an IPv4 and an IPv6 address, so only the addresses of one family are used.
  const addresses = found.filter(({ family }) => family === found[0]?.family).map(({ address }) => address);
  // The addresses are sorted, because DNS returns them in any order and the rows of the view should not move.
  return addresses.toSorted().map((address) => {
    url.hostname = isIP(address) === 6 ? `[${address}]` : address;
    return { name: process.name, url: url.origin };
  });
}
