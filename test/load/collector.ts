import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A collector of traces that only counts what it receives. */
export interface Collector {
  url: string;
  /** The bytes of all spans received so far. */
  bytes(): number;
  stop(): Promise<void>;
}

/**
 * Starts a collector that does not decode spans: it shares the machine with the measured processes, and a busy second core
 * makes the first one slower.
 */
export async function startCollector(): Promise<Collector> {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (part: Buffer) => (bytes += part.length));
    request.on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: () => bytes,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
