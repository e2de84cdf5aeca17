import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Process } from '../../connections.ts';

/** The addresses of a name; throws where there is none. */
export type Lookup = (name: string) => Promise<readonly { address: string; family: number }[]>;

const inDns: Lookup = (name) => lookup(name, { all: true, order: 'ipv4first' });

/** A name stands for all replicas, each at an address of its own; an address and `localhost` stand for one process. */
export async function replicasOf(process: Process, find: Lookup = inDns): Promise<Process[]> {
  const url = new URL(process.url);
  if (url.hostname === 'localhost' || url.hostname.startsWith('[') || isIP(url.hostname)) return [process];
  const found = await find(url.hostname);
  // A replica with addresses of both families is one process.
  const addresses = found.filter(({ family }) => family === found[0]?.family).map(({ address }) => address);
  // DNS tells them in any order, and a view keeps its own.
  return addresses.toSorted().map((address) => {
    url.hostname = isIP(address) === 6 ? `[${address}]` : address;
    return { name: process.name, url: url.origin };
  });
}
