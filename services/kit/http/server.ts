import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { InternalTls } from '../security/internal-tls.ts';
import { addressOf, listen } from '../service/address.ts';
import type { Part } from '../service/lifecycle.ts';

/** How long, in milliseconds, a drain waits for requests in flight. */
const DRAIN_MS = 15_000;
/**
 * How many seconds a process needs to stop after its drain delay: the HTTP server completes the requests in flight, and two
 * seconds are left for everything else. The process and the chart check that STOP_SECONDS has room for them.
 */
export const MIN_SECONDS_AFTER_DRAIN_DELAY = DRAIN_MS / 1_000 + 2;
const CLOSE_IDLE_EVERY_MS = 50;

/** An HTTP request with its response. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

const LATEST = Symbol('latest exchange');
type Connection = Socket & { [LATEST]?: Exchange };

/**
 * Returns the latest request on a connection of an HttpServer, completed or not; undefined before the first request.
 */
export function latestExchange(connection: Socket): Exchange | undefined {
  return (connection as Connection)[LATEST];
}

/** The address and handler of an HTTP server; all other options are those of Node's HTTP server. */
export interface HttpServerOptions extends ServerOptions {
  host: string;
  port: number;
  handler: (request: IncomingMessage, response: ServerResponse) => void;
  tls?: InternalTls | undefined;
  /** Receives an error that the handler threw, for logging. The connection of the failed request is closed. */
  onFailure?: ((error: unknown) => void) | undefined;
}

/** An HTTP server that can drain: it completes the requests in flight and closes each connection after its response. */
export class HttpServer implements Part {
  readonly name = 'http';
  readonly server: Server;
  readonly #host: string;
  readonly #port: number;
  /**
   * The open connections, each with its latest request. A Set of all requests would change twice with every request,
   * and keep completed requests in memory until the next full garbage collection.
   */
  readonly #connections = new Set<Connection>();
  #isRetired = false;

  constructor({ host, port, handler, tls, onFailure, ...httpOptions }: HttpServerOptions) {
    this.#host = host;
    this.#port = port;
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

  /** The address of the HTTP server as `host:port`; known after `start`. */
  get address(): string {
    return addressOf(this.server);
  }

  start(): Promise<void> {
    return listen(this.server, this.#host, this.#port);
  }

  /**
   * Makes the server close each connection after its response from now on, so that clients connect to another replica.
   */
  retire(): void {
    this.#isRetired = true;
    for (const { [LATEST]: latest } of this.#connections) if (latest) announceClose(latest.response);
  }

  async drain(): Promise<void> {
    if (!this.server.listening) return;
    this.retire();
    const closed = once(this.server, 'close');
    this.server.close();
    const late = setTimeout(() => this.server.closeAllConnections(), DRAIN_MS);
    // Idle connections are closed repeatedly: a response whose headers were sent before the drain leaves its connection
    // open.
    const look = setInterval(() => this.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
    await closed;
    clearTimeout(late);
    clearInterval(look);
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
  }

  #track(connection: Connection, exchange: Exchange): void {
    const isNew = connection[LATEST] === undefined;
    connection[LATEST] = exchange;
    if (this.#isRetired) announceClose(exchange.response);
    if (!isNew) return;
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
  }
}

/**
 * Handles the `error` event of a response, such as a write after its end, by closing the connection. Without a listener
 * the event would terminate the process and all other requests with it.
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
