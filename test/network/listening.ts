import type { Server } from 'node:http';
import { addressOf, listen } from '#kit/service/address.ts';

/** Starts a server on a free port. `close` also closes its connections. */
export async function listening(server: Server): Promise<{ url: string; close: () => void }> {
  await listen(server, '127.0.0.1', 0);
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://${addressOf(server)}`, close };
}
