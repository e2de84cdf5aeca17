import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { claimName } from './lock.ts';

const LOWEST = 20_000;
const ATTEMPTS = 200;
/** How long, in milliseconds, a port in use may take to become free. */
const PATIENCE_MS = 3_000;

/**
 * Free ports on 127.0.0.1. They are below the range that the kernel uses for outgoing connections, so that no such
 * connection takes the port of a process that is being restarted. Two callers on this machine never get the same port,
 * even before a process listens on it.
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

/** True if a port is free; without `host` on 127.0.0.1. */
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

/** Linux publishes the range. 32768 is its default, and lower than the defaults of other systems. */
function lowestOutgoingPort(): number {
  try {
    const lowest = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
    return lowest > LOWEST + 1000 ? lowest : 32_768;
  } catch {
    return 32_768;
  }
}

/**
 * Waits for some seconds until a port is free, because a system that was just killed may still hold it. Throws an error that
 * names the variable with the port.
 */
export async function untilPortFree({ port, variable }: { port: number; variable: string }): Promise<void> {
  if (port === 0) return;
  for (const deadline = Date.now() + PATIENCE_MS; !(await isPortFree(port)); await pause(50)) {
    if (Date.now() > deadline) {
      throw new Error(`Port ${port} is taken: set ${variable} to another one, or to 0 for any free port`);
    }
  }
}
