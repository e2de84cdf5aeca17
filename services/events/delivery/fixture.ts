import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Environment, readConfig } from '#kit/service/config.ts';
import { webhookConfig } from './config.ts';
import { type DeliveryRequest, type DeliveryResult, Sender, type SenderOptions } from './sender.ts';

/** A TCP server on loopback: how many connections it accepted, and all that it received. */
export interface TestServer {
  port: number;
  connections: number;
  received: string;
}

/** Starts a TCP server of any kind on a loopback address; the test's end closes it with its connections. */
export async function serve(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  server.listen(port, host);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a server that calls `answer` each time it has received the whole of a request. */
export async function serveRaw(answer: (socket: Socket, count: number) => void): Promise<TestServer> {
  const state: TestServer = { port: 0, connections: 0, received: '' };
  let count = 0;
  const server = createServer((socket) => {
    state.connections += 1;
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      state.received += chunk.toString('latin1');
      if (!isComplete(text)) return;
      text = '';
      answer(socket, count++);
    });
  });
  state.port = await serve(server);
  return state;
}

function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const [, length = '0'] = /content-length: (\d+)/i.exec(text) ?? [];
  return end !== -1 && text.length - end - 4 >= Number(length);
}

/** A complete response with this body. */
export const response = (body: string, head = 'HTTP/1.1 200 OK') =>
  `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** The environment in which webhooks may be sent to this machine. */
export const LOOPBACK = { WEBHOOKS_ALLOW_HTTP: 'true', WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' };

/** Creates a sender that may send to loopback, unless the environment says otherwise, and resolves all names to it. */
export function createSender(environment: Environment = LOOPBACK, options: Partial<SenderOptions> = {}): Sender {
  const config = readConfig(webhookConfig, environment);
  const sender = new Sender({ config, resolve: async () => ['127.0.0.1'], ...options });
  onTestFinished(() => sender.stop());
  return sender;
}

/** Sends a small body to a URL. */
export function post(sender: Sender, url: string, request: Partial<DeliveryRequest> = {}): Promise<DeliveryResult> {
  return sender.send({ url, headers: {}, body: '{"seq":1}', timeoutMs: 5_000, ...request });
}
