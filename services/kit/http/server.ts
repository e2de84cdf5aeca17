import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { InternalTls } from '../security/internal-tls.ts';
import { addressOf, listen } from '../service/health.ts';
import type { Part } from '../service/lifecycle.ts';

/** How long a stop waits for requests under way; with the longest drain delay it is over before STOP_SECONDS are. */
const DRAIN_MS = 15_000;
const LOOK_EVERY_MS = 50;

/** A request with its answer. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

const NEWEST = Symbol('newest exchange');
type Connection = Socket & { [NEWEST]?: Exchange };

/** The newest request of an HttpServer's connection, whether answered or not; undefined before the first. */
export function newestExchange(connection: Socket): Exchange | undefined {
  return (connection as Connection)[NEWEST];
}

export interface HttpServerOptions extends ServerOptions {
  tls?: InternalTls | undefined;
  /** Receives what a handler throws, so that it can be logged; the request's connection is closed. */
  onFailure?: ((error: unknown) => void) | undefined;
}

/** A listening HTTP server that drains: it answers what is under way and closes each connection after its answer. */
export class HttpServer implements Part {
  readonly name = 'http';
  readonly server: Server;
  readonly #host: string;
  readonly #port: number;
  /**
   * Each holds its newest exchange. A Set that gained and lost a member with every request would keep them all alive
   * until the next full collection of garbage: the tables that it outgrows still hold them.
   */
  readonly #connections = new Set<Connection>();
  #retired = false;

  constructor(
    host: string,
    port: number,
    handler: (request: IncomingMessage, response: ServerResponse) => void,
    options: HttpServerOptions = {},
  ) {
    this.#host = host;
    this.#port = port;
    const { tls, onFailure, ...httpOptions } = options;
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      this.#track(request.socket, { request, response });
      response.on('error', disconnect);
      try {
        handler(request, response);
      } catch (error) {
        onFailure?.(error);
        response.destroy();
      }
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
    for (const { [NEWEST]: newest } of this.#connections) if (newest) announceClose(newest.response);
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

  #track(connection: Connection, exchange: Exchange): void {
    const isNew = connection[NEWEST] === undefined;
    connection[NEWEST] = exchange;
    if (this.#retired) announceClose(exchange.response);
    if (!isNew) return;
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
  }
}

/**
 * Listens to a response's `error`, such as a write after its end. Without a listener it would end the process, and with
 * it the requests of all other callers.
 */
function disconnect(this: ServerResponse): void {
  this.destroy();
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
