import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Makes a server listen on a host and port. Throws the server's error if it cannot listen. */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, 'listening');
}

/** Returns the address of a listening server as `host:port`; a loopback address if it listens on all interfaces. */
export function addressOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return reachableAt(address, port);
}

/** Returns `host:port` at which a server that listens on this address can be reached from the same machine. */
export function reachableAt(address: string, port: number): string {
  return hostAndPort(address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address, port);
}

/** Formats `host:port`, with brackets around an IPv6 address. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
