import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';

/** What a proxy was asked to connect to, and with which credentials. */
export interface ProxiedConnection {
  target: string | undefined;
  authorization: string | undefined;
}

/**
 * Creates an HTTP proxy that opens the tunnels of CONNECT requests. `refuse` returns bytes to respond with instead, or
 * null to send no response.
 */
export function createConnectProxy(refuse: (target: string) => string | null | undefined = () => undefined): {
  server: Server;
  connections: ProxiedConnection[];
} {
  const connections: ProxiedConnection[] = [];
  const server = createServer((_request, response) => void response.writeHead(500).end());
  server.on('connect', ({ url = '', headers }: IncomingMessage, client: Socket) => {
    connections.push({ target: url, authorization: headers['proxy-authorization'] });
    client.on('error', () => undefined);
    const refusal = refuse(url);
    if (refusal !== undefined) {
      if (refusal !== null) client.end(refusal);
      return;
    }
    const { hostname, port } = new URL(`http://${url}`);
    const target = connect(Number(port), hostname.replace(/^\[(.*)\]$/, '$1'), () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    target.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'));
    client.on('close', () => target.destroy());
  });
  return { server, connections };
}
