import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Stands between two parts of the system and loses what it is told to lose. */
export interface Proxy {
  /** `host:port`. */
  address: string;
  /** While true, what the server answers is lost; connections are cut when it becomes false again. */
  loseAnswers(lose: boolean): void;
  stop(): Promise<void>;
}

/** A TCP proxy to `host:port`. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(`tcp://${target}`);
  const sockets = new Set<Socket>();
  let losing = false;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream);
    upstream.on('data', (bytes) => {
      if (!losing) client.write(bytes);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseAnswers(lose) {
      if (losing && !lose) cut();
      losing = lose;
    },
    async stop() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
