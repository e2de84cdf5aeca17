import type { Server } from 'node:http';
import { addressOf, listen } from '#kit/service/address.ts';

/** Has a server listen on a free port; its base URL, and what ends it with all its connections. */
export async function listening(server: Server): Promise<{ url: string; close: () => void }> {
  await listen(server, '127.0.0.1', 0);
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://${addressOf(server)}`, close };
}
