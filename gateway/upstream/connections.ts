import type { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import { within } from '#kit/resilience/deadline.ts';
import type { InternalTls } from '#kit/security/internal-tls.ts';
import { type AnswerListener, ResponseParser } from './response-parser.ts';

/** Less than services keep a connection for, so that none is closed under a request that is just being sent. */
export const IDLE_MS = 60_000;
/** The most that are kept while nobody uses them. */
export const MOST_FREE = 256;

/**
 * After so long a connection is closed when its response has ended, and a new one is made in its place: it may lead to a
 * replica that was not there before. Each has an age of its own, so that they do not all reconnect at once.
 */
export const MIN_AGE_MS = 10_000;
export const MAX_AGE_MS = 20_000;

/** When a connection that is made now is too old, by performance.now(). */
export type Expiry = () => number;

export function randomExpiry(): number {
  return performance.now() + MIN_AGE_MS + Math.random() * (MAX_AGE_MS - MIN_AGE_MS);
}

/** Makes an agent close each connection that is too old once its response has ended. */
export function limitAge<Pool extends Agent>(agent: Pool, expiry: Expiry = randomExpiry): Pool {
  const expiries = new WeakMap<Duplex, number>();
  const keep = agent.keepSocketAlive.bind(agent) as (socket: Duplex) => boolean;
  const keepYoung = (socket: Duplex): boolean => {
    const expiresAt = expiries.get(socket) ?? expiry();
    expiries.set(socket, expiresAt);
    return performance.now() < expiresAt && keep(socket);
  };
  return Object.assign(agent, { keepSocketAlive: keepYoung });
}

/** The name or the address that a URL leads to. */
export function hostOf({ hostname }: URL): string {
  return hostname.replaceAll(/[[\]]/g, '');
}

/** Who has sent a request over a connection. */
export interface Asker extends AnswerListener {
  /** The connection is of no more use, and the answer is not at its end. */
  onFailure(cause: Error): void;
}

/** A connection to a service, for one request at a time. */
export class Connection {
  readonly #socket: Socket;
  readonly #reader = new ResponseParser();
  readonly #expiresAt: number;
  #asker: Asker | undefined;

  /** `expiresAt`: by performance.now(), when it is not to be used any more. */
  constructor(socket: Socket, expiresAt = Number.POSITIVE_INFINITY) {
    this.#socket = socket;
    this.#expiresAt = expiresAt;
    socket.setTimeout(IDLE_MS);
    socket.on('timeout', () => {
      if (!this.#asker) socket.destroy();
    });
    socket.on('data', (bytes: Buffer) => this.#hear(() => this.#reader.read(bytes)));
    socket.on('end', () => {
      this.#hear(() => this.#reader.end());
      socket.destroy();
    });
    socket.on('error', (cause) => this.fail(cause));
    socket.on('close', () => this.fail(new Error('the connection was closed')));
  }

  /** Whether a part of the answer to the last request has come. */
  get wasHeardOf(): boolean {
    return this.#reader.wasHeardOf;
  }

  get isReusable(): boolean {
    const isFree = !this.#asker && this.#reader.isReusable && !this.#socket.destroyed;
    return isFree && performance.now() < this.#expiresAt;
  }

  onClose(closed: () => void): void {
    this.#socket.on('close', closed);
  }

  /** Sends a whole GET, a byte a character. */
  send(request: string, asker: Asker): void {
    this.#asker = asker;
    this.#reader.expect({
      onHead: (status, message, headers) => asker.onHead(status, message, headers),
      onPiece: (piece) => asker.onPiece(piece),
      onEnd: (whole) => {
        this.#asker = undefined;
        // Its caller may have had it wait; the next one's answer must not.
        this.#socket.resume();
        asker.onEnd(whole);
      },
    });
    this.#socket.write(request, 'latin1');
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Breaks it off; its asker is not told. */
  destroy(): void {
    this.#asker = undefined;
    this.#socket.destroy();
  }

  #hear(what: () => void): void {
    try {
      what();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /** Breaks it off, and tells its asker why. */
  fail(cause: Error): void {
    const asker = this.#asker;
    this.destroy();
    asker?.onFailure(cause);
  }
}

/**
 * Kept connections to one service, one request on each at a time. All in turn: one that leads to a service that is about
 * to stop is used, and closed, before the service closes it, for that might happen under a request that is just being sent.
 */
export class Connections {
  /** `host` or `host:port`, for the header `Host`. */
  readonly host: string;
  readonly #open: () => Connection;
  readonly #all = new Set<Connection>();
  /** The one that is free for longest comes first. */
  readonly #free: Connection[] = [];
  readonly #probeRequest: string;
  #isClosed = false;

  /** `tls` is shown where the URL begins with https. */
  constructor(target: string, tls?: InternalTls, expiry: Expiry = randomExpiry) {
    const url = new URL(target);
    this.host = url.host;
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const options = { host: hostOf(url), port, noDelay: true, keepAlive: true };
    // Unsigned, so every service rejects it, before it does anything.
    this.#probeRequest = `GET / HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`;
    this.#open = () => new Connection(tls ? tls.connect(options) : connect(options), expiry());
  }

  /** A free connection, or a new one; throws where there is no way to make one. */
  take(): Connection {
    if (this.#isClosed) throw new Error('this process stops');
    for (let free = this.#free.shift(); free; free = this.#free.shift()) {
      if (free.isReusable) return free;
      this.discard(free);
    }
    return this.#add();
  }

  /**
   * Resolves once the service has sent any response head over a connection of its own, which is closed then; rejects
   * when it does not within the time.
   */
  async probe(milliseconds: number): Promise<void> {
    if (this.#isClosed) throw new Error('this process stops');
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

  /** Its answer has come to its end: the next request may have it. */
  release(connection: Connection): void {
    if (this.#free.length < MOST_FREE && connection.isReusable) this.#free.push(connection);
    else this.discard(connection);
  }

  /** Breaks the connection off, and what is under way on it. */
  discard(connection: Connection): void {
    this.#all.delete(connection);
    connection.destroy();
  }

  /** Breaks all off and makes no more; those who have asked are told. */
  close(): void {
    this.#isClosed = true;
    this.#free.length = 0;
    for (const connection of this.#all) connection.fail(new Error('this process stops'));
  }

  #add(): Connection {
    const connection = this.#open();
    this.#all.add(connection);
    connection.onClose(() => {
      this.#all.delete(connection);
      const index = this.#free.indexOf(connection);
      if (index >= 0) this.#free.splice(index, 1);
    });
    return connection;
  }
}
