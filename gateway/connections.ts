import type { IncomingHttpHeaders } from 'node:http';
import { Client, type Dispatcher } from 'undici';
import type { InternalTls } from '#kit/internal-tls.ts';

/** Less than services keep a connection for, so that none is closed under a request that is just being sent. */
export const IDLE_MS = 60_000;
/** The most that are kept while nobody uses them. */
export const MOST_FREE = 256;

/**
 * Kept connections to one service, one request on each at a time. All in turn: one that leads to a service that is about
 * to stop is used, and closed, before the service closes it, for that might happen under a request that is just being sent.
 */
export class Connections {
  readonly #origin: string;
  readonly #options: Client.Options;
  /** A name or an address. */
  readonly #host: string;
  readonly #all = new Set<Client>();
  /** The one that is free for longest comes first. */
  readonly #free: Client[] = [];

  /** `tls` is shown where the URL begins with https. */
  constructor(target: string, tls?: InternalTls) {
    this.#origin = new URL(target).origin;
    this.#host = new URL(target).hostname.replaceAll(/[[\]]/g, '');
    this.#options = {
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      // Whoever sends has a deadline of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(tls && { connect: tls.createConnector(target) }),
    };
  }

  /** A free connection, or a new one. */
  take(): Client {
    return this.#free.shift() ?? this.#open();
  }

  /** Sends a GET over a connection that was taken; the handler hears what becomes of it. */
  get(client: Client, path: string, headers: IncomingHttpHeaders, handler: Dispatcher.DispatchHandler): void {
    // undici would take the name from the header Host, which is the caller's, and connect anew for each other one.
    const request = { method: 'GET', path, headers, servername: this.#host };
    client.dispatch(request, handler);
  }

  /** Its answer has come to its end: the next request may have it. */
  release(client: Client): void {
    if (this.#free.length < MOST_FREE) this.#free.push(client);
    else this.discard(client);
  }

  /** Breaks the connection off, and what is under way on it. */
  discard(client: Client): void {
    if (!this.#all.delete(client)) return;
    void client.destroy();
  }

  close(): void {
    this.#free.length = 0;
    for (const client of this.#all) this.discard(client);
  }

  #open(): Client {
    const client = new Client(this.#origin, this.#options);
    this.#all.add(client);
    client.on('disconnect', () => {
      const index = this.#free.indexOf(client);
      if (index < 0) return;
      this.#free.splice(index, 1);
      this.discard(client);
    });
    return client;
  }
}
