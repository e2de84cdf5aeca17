import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { claimName } from './lock.ts';

const LOWEST = 20_000;
const ATTEMPTS = 200;

/**
 * Ports on 127.0.0.1 that nobody listens on. They lie below the range from which the kernel serves outgoing
 * connections, so that none of those takes the port of a process while it is being started again. No two callers on
 * this machine get the same one, not even before somebody listens on it.
 */
export async function freePorts(count: number): Promise<number[]> {
  const highest = lowestOutgoingPort() - 1;
  const servers: Server[] = [];
  try {
    for (let attempt = 0; servers.length < count; attempt += 1) {
      if (attempt === count + ATTEMPTS) throw new Error(`No free port between ${LOWEST} and ${highest}`);
      const port = LOWEST + Math.floor(Math.random() * (highest - LOWEST + 1));
      const claim = await claimName(`port-${port}`);
      const server = claim && (await listen(port));
      if (server) servers.push(server);
      else claim?.close();
    }
    return servers.map(portOf);
  } finally {
    await Promise.all(servers.map(close));
  }
}

/** Whether a port can be listened on; `host` left out means every address of the machine. */
export async function isPortFree(port: number, host?: string): Promise<boolean> {
  const server = await listen(port, host);
  if (server) await close(server);
  return server !== undefined;
}

async function listen(port: number, host: string | undefined = '127.0.0.1'): Promise<Server | undefined> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** Linux tells the range; 32768 is its default and lower than that of other systems. */
function lowestOutgoingPort(): number {
  try {
    const lowest = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
    return lowest > LOWEST + 1000 ? lowest : 32_768;
  } catch {
    return 32_768;
  }
}
