import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { addressOf, listen } from './health.ts';
import type { InternalTls } from './internal-tls.ts';
import type { Part } from './lifecycle.ts';

/** How long a stop waits for requests under way; with the longest drain delay it is over before STOP_SECONDS are. */
const DRAIN_MS = 15_000;
const LOOK_EVERY_MS = 50;

const CURRENT = Symbol('current response');
type Connection = Socket & { [CURRENT]?: ServerResponse | undefined };

/** A listening HTTP server that drains: it answers what is under way and closes each connection after its answer. */
export class HttpServer implements Part {
  readonly name = 'http';
  readonly server: Server;
  readonly #host: string;
  readonly #port: number;
  /**
   * Each holds the response that is under way. A Set that gained and lost a member with every request would keep them
   * all alive until the next full collection of garbage: the tables that it outgrows still hold them.
   */
  readonly #connections = new Set<Connection>();
  #retired = false;

  constructor(
    host: string,
    port: number,
    handler: (request: IncomingMessage, response: ServerResponse) => void,
    options: ServerOptions & { tls?: InternalTls | undefined } = {},
  ) {
    this.#host = host;
    this.#port = port;
    const { tls, ...httpOptions } = options;
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      this.#track(request.socket, response);
      handler(request, response);
    };
    this.server = tls ? createTlsServer(tls, httpOptions, handle) : createServer(httpOptions, handle);
  }

  /** `host:port`, known once it has started. */
  get address(): string {
    return addressOf(this.server);
  }

  start(): Promise<void> {
    return listen(this.server, this.#host, this.#port);
  }

  /** From now on each connection is closed after its answer, so that its caller makes its next one elsewhere. */
  retire(): void {
    this.#retired = true;
    for (const { [CURRENT]: response } of this.#connections) if (response) announceClose(response);
  }

  async drain(): Promise<void> {
    if (!this.server.listening) return;
    this.retire();
    const closed = once(this.server, 'close');
    this.server.close();
    const late = setTimeout(() => this.server.closeAllConnections(), DRAIN_MS);
    // The headers of what is under way may have been out before, so that its connection is kept.
    const look = setInterval(() => this.server.closeIdleConnections(), LOOK_EVERY_MS);
    await closed;
    clearTimeout(late);
    clearInterval(look);
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
  }

  #track(connection: Connection, response: ServerResponse): void {
    connection[CURRENT] = response;
    response.once('close', () => {
      if (connection[CURRENT] === response) connection[CURRENT] = undefined;
    });
    if (this.#retired) announceClose(response);
    if (this.#connections.has(connection)) return;
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
  }
}

function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

function createTlsServer(
  tls: InternalTls,
  options: ServerOptions,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createHttpsServer({ ...options, ...tls.serverOptions }, handle);
  tls.follow(server);
  return server;
}
