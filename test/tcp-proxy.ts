import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  port: number;
  /** From now on nothing passes on the connections that are open, and nobody is told. */
  freeze(): void;
  /** Also new connections are taken and left without an answer, until `thaw`. */
  freezeAll(): void;
  thaw(): void;
  /** From now on what the target answers on the connections that are open is lost; what it is asked still arrives. */
  loseAnswers(): void;
  /** Ends the connections that are open. */
  cut(): void;
  close(): Promise<void>;
}

/** Passes bytes to another port of this machine until it is told to keep them, like a network that loses packets. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const open = new Set<Socket>();
  const targets = new WeakSet<Socket>();
  let isFrozen = false;
  const server = createServer((incoming) => {
    const outgoing = connect(target, '127.0.0.1');
    const pair = [incoming, outgoing] as const;
    targets.add(outgoing);
    for (const socket of pair) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        for (const other of pair) other.destroy();
      });
    }
    if (isFrozen) return;
    incoming.pipe(outgoing);
    outgoing.pipe(incoming);
  });
  const freeze = () => {
    for (const socket of open) socket.unpipe().resume();
  };
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    freeze,
    freezeAll: () => {
      isFrozen = true;
      freeze();
    },
    thaw: () => {
      isFrozen = false;
    },
    loseAnswers: () => {
      for (const socket of open) if (targets.has(socket)) socket.unpipe().resume();
    },
    cut,
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
