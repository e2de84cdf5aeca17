import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Balancer {
  port: number;
  close(): Promise<void>;
}

/**
 * Distributes connections over local ports in turn, as a Kubernetes Service does: over the ready ones when a
 * connection is opened. It does not parse the traffic, and tries no other port when one refuses.
 */
export async function startBalancer(ready: () => readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer({ noDelay: true }, (incoming) => {
    const ports = ready();
    const port = ports[turn++ % ports.length];
    if (port === undefined) {
      incoming.resetAndDestroy();
      return;
    }
    const outgoing = connect({ port, host: '127.0.0.1', noDelay: true });
    for (const [socket, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      open.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
