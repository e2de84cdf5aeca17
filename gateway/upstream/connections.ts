import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { serviceAddress } from '#kit/http/service-address.ts';
import { within } from '#kit/resilience/deadline.ts';
import type { InternalTls } from '#kit/security/internal-tls.ts';
import { type ResponseListener, ResponseParser } from './response-parser.ts';

/**
 * The maximum number of idle connections to one service. Heartbeats wait for a common write and end together, hundreds at a time, so
 * with fewer idle connections most would be closed and opened again for every write.
 */
export const MAX_IDLE = 1_024;

/**
 * The minimum age at which a connection to a service is closed after its response. A new connection may lead to a new
 * replica. Each connection has a random maximum age, so that they do not all reconnect at the same time. A quiet gateway
 * has few connections, so they must reconnect several times within the 30 s in which a new replica gets its share.
 */
export const MIN_AGE_MS = 5_000;
export const MAX_AGE_MS = 10_000;

/**
 * How long an idle connection to a service is kept: until its maximum age is certainly over. Shorter than the services' keep-alive,
 * so that a service does not close a connection while a request is being sent.
 */
export const IDLE_MS = MAX_AGE_MS;

/** Returns when a connection that is opened now expires, by performance.now(). */
export type Expiry = () => number;

export function randomExpiry(): number {
  return performance.now() + MIN_AGE_MS + Math.random() * (MAX_AGE_MS - MIN_AGE_MS);
}

/** Receives the parts of a service's response to one request. */
export interface ResponseHandler extends ResponseListener {
  /** Called when the connection failed before the response was complete. */
  onFailure(cause: Error): void;
}

/** A connection to a service, which carries one request at a time. */
export class Connection {
  readonly #socket: Socket;
  readonly #parser = new ResponseParser();
  readonly #expiresAt: number;
  #handler: ResponseHandler | undefined;
  #wasOpened = false;

  /** The connection is not used any more from `expiresAt` (performance.now()). */
  constructor(socket: Socket, expiresAt = Number.POSITIVE_INFINITY) {
    this.#socket = socket;
    this.#expiresAt = expiresAt;
    socket.once('connect', () => (this.#wasOpened = true));
    socket.setTimeout(IDLE_MS);
    socket.on('timeout', () => {
      if (!this.#handler) socket.destroy();
    });
    socket.on('data', (bytes: Buffer) => this.#parse(() => this.#parser.read(bytes)));
    socket.on('end', () => {
      this.#parse(() => this.#parser.end());
      socket.destroy();
    });
    socket.on('error', (cause) => this.fail(cause));
    socket.on('close', () => this.fail(new Error('the connection was closed')));
  }

  /** True if the connection is or was open. If false, the service has not received any byte of a request. */
  get wasOpened(): boolean {
    return this.#wasOpened;
  }

  /** True if a part of the response to the last request was received. */
  get hasReceivedBytes(): boolean {
    return this.#parser.hasReceivedBytes;
  }

  get isReusable(): boolean {
    const isIdle = !this.#handler && this.#parser.isReusable && !this.#socket.destroyed;
    // A service may respond before it has read the whole request. The next request would wait for the remaining bytes.
    return isIdle && this.#socket.writableLength === 0 && performance.now() < this.#expiresAt;
  }

  onClose(closed: () => void): void {
    this.#socket.on('close', closed);
  }

  /** Sends a whole request to the service, encoded as Latin-1. `isHead`: the response has no body. */
  send(request: string, handler: ResponseHandler, isHead = false): void {
    this.#handler = handler;
    const listener: ResponseListener = {
      onHead: (status, message, headers) => handler.onHead(status, message, headers),
      onPiece: (piece) => handler.onPiece(piece),
      onEnd: (whole) => {
        this.#handler = undefined;
        // A slow client may have paused the connection to the service, which must not delay the next response.
        this.#socket.resume();
        handler.onEnd(whole);
      },
    };
    this.#parser.expect(listener, isHead);
    this.#socket.write(request, 'latin1');
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Closes the connection to the service without calling the response handler. */
  destroy(): void {
    this.#handler = undefined;
    this.#socket.destroy();
  }

  #parse(parse: () => void): void {
    try {
      parse();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /** Closes the connection to the service and calls onFailure of the response handler. */
  fail(cause: Error): void {
    const handler = this.#handler;
    this.destroy();
    handler?.onFailure(cause);
  }
}

/**
 * A pool of connections to one service, with one request on each at a time. The connection that was idle longest is
 * used next: so a connection to a service that is shutting down is used soon and closed with its response, instead of
 * being closed by the service while a request is being sent.
 */
export class Connections {
  /** The service's `host` or `host:port`, for the header `Host`. */
  readonly host: string;
  readonly #open: () => Connection;
  readonly #all = new Set<Connection>();
  /** The idle connections; the connection that was idle longest comes first. */
  readonly #idle: Connection[] = [];
  readonly #probeRequest: string;
  #isClosed = false;

  /** Creates a pool of connections to the service with the URL `target`. `tls` is used if the URL begins with https. */
  constructor(target: string, tls?: InternalTls, expiry: Expiry = randomExpiry) {
    const url = new URL(target);
    this.host = url.host;
    const options = { ...serviceAddress(url), noDelay: true, keepAlive: true };
    // The probe has no signed principal (the identity of a client), so every service rejects it before doing anything.
    this.#probeRequest = `GET / HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`;
    this.#open = () => new Connection(tls ? tls.connect(options) : connect(options), expiry());
  }

  /** Returns an idle connection to the service or a new one. Throws if no connection can be opened. */
  take(): Connection {
    if (this.#isClosed) throw new Error('the gateway is shutting down');
    for (let idle = this.#idle.shift(); idle; idle = this.#idle.shift()) {
      if (idle.isReusable) return idle;
      this.discard(idle);
    }
    return this.#add();
  }

  /**
   * Sends a request to the service over a separate connection, which is closed afterwards. Resolves when any response
   * head is received; rejects if none is received in time.
   */
  async probe(milliseconds: number): Promise<void> {
    if (this.#isClosed) throw new Error('the gateway is shutting down');
    const connection = this.#add();
    const responded = new Promise<void>((resolve, reject) => {
      const ignore = () => undefined;
      connection.send(this.#probeRequest, {
        onHead: () => resolve(),
        onPiece: ignore,
        onEnd: ignore,
        onFailure: reject,
      });
    });
    await within(milliseconds, responded).finally(() => this.discard(connection));
  }

  /** Returns a connection to the pool after its response. */
  release(connection: Connection): void {
    if (this.#idle.length < MAX_IDLE && connection.isReusable) this.#idle.push(connection);
    else this.discard(connection);
  }

  /** Closes a connection to the service, and with it the request in flight on it. */
  discard(connection: Connection): void {
    this.#all.delete(connection);
    connection.destroy();
  }

  /** Closes all connections to the service and opens no more. The handlers of requests in flight are called. */
  close(): void {
    this.#isClosed = true;
    this.#idle.length = 0;
    for (const connection of this.#all) connection.fail(new Error('the gateway is shutting down'));
  }

  #add(): Connection {
    const connection = this.#open();
    this.#all.add(connection);
    connection.onClose(() => {
      this.#all.delete(connection);
      const index = this.#idle.indexOf(connection);
      if (index >= 0) this.#idle.splice(index, 1);
    });
    return connection;
  }
}
