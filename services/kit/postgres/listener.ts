import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, escapeIdentifier } from 'pg';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

const PROBE_EVERY_MS = 1_000;
/** Those of the same name in the same database. */
const PEERS = `SELECT pid || ' ' || backend_start AS peer FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = $1`;
/** A connection that does not hand over what it was sent within this time is deaf. */
const DEAF_MS = 2_000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 1_000;

export interface ListenerOptions {
  /** Not through a transaction pooler: LISTEN belongs to a session. */
  url: string;
  /** Shown in pg_stat_activity. */
  name: string;
  channel: string;
  log: Logger;
  metrics: Metrics;
  /** A notification, in the order of commits. */
  onNotification(payload: string): void;
  /** Each time it listens anew, before anything is proven: what was missed is to be read here. */
  onListening(): Promise<void>;
  /** About once a second: whatever was committed before the last probe was sent has been handed over. */
  onProof(): void;
  /**
   * Within about a second, and once more a second later: another process of this name no longer listens. What it
   * committed last, it may not have told.
   */
  onPeerLost?(): void;
}

/**
 * Hears NOTIFY on one connection of its own, and knows whether it does: it notifies itself once a second, since a
 * half-open connection is silent. A connection that is lost or deaf is made anew.
 */
export class Listener implements Part {
  readonly name = 'listener';
  readonly #options: ListenerOptions;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** When the newest probe that came back was sent. */
  #provenAt = Number.NEGATIVE_INFINITY;
  #echoed: (() => void) | undefined;
  /** Whether the log says that it hears; unset before the first connection. */
  #told: boolean | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    options.metrics.gauge('listener_hearing', '1 while notifications are heard', ['channel'], (gauge) =>
      gauge.set({ channel: options.channel }, this.isHearing ? 1 : 0),
    );
  }

  /** Whether all that was committed up to two seconds ago has been handed over. */
  get isHearing(): boolean {
    return performance.now() - this.#provenAt <= DEAF_MS;
  }

  /** Does not wait for a connection. */
  async start(): Promise<void> {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    let pause = FIRST_RETRY_MS;
    while (!signal.aborted) {
      try {
        await this.#listen(() => (pause = FIRST_RETRY_MS));
      } catch (error) {
        if (signal.aborted) return;
        this.#tell(false, error);
      }
      await wait(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      pause = Math.min(2 * pause, LONGEST_RETRY_MS);
    }
  }

  /** Listens on one connection until it is lost, which is thrown. */
  async #listen(onFirstProof: () => void): Promise<never> {
    const { channel } = this.#options;
    // Of this connection alone, so that no other process hears it.
    const probe = `probe_${randomBytes(8).toString('hex')}`;
    const client = this.#connection(probe);
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.#stopped.signal]);
    client.on('error', (error) => lost.abort(error));
    client.on('end', () => lost.abort(new Error('the connection was closed')));
    // A polite end would wait for an answer that a deaf connection never gives.
    signal.addEventListener('abort', () => client.connection.stream.destroy());
    try {
      await client.connect();
      await client.query(`LISTEN ${escapeIdentifier(channel)}; LISTEN ${probe}`);
      await this.#options.onListening();
      const peers = new Peers(client, this.#applicationName);
      for (;;) {
        await this.#prove(client, probe, signal);
        this.#tell(true);
        onFirstProof();
        this.#options.onProof();
        if (this.#options.onPeerLost && (await peers.wereLost())) this.#options.onPeerLost();
        await wait(PROBE_EVERY_MS, undefined, { signal });
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      this.#provenAt = Number.NEGATIVE_INFINITY;
      lost.abort();
    }
  }

  get #applicationName(): string {
    return `${this.#options.name} listener`;
  }

  #connection(probe: string): Client {
    const client = new Client({
      connectionString: this.#options.url,
      application_name: this.#applicationName,
      connectionTimeoutMillis: DEAF_MS,
      query_timeout: DEAF_MS,
      keepAlive: true,
    });
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === probe) this.#echoed?.();
      else this.#options.onNotification(payload);
    });
    return client;
  }

  /** Resolves when a probe has come back; notifications arrive in order, so all before it have been handed over. */
  async #prove(client: Client, probe: string, signal: AbortSignal): Promise<void> {
    const sentAt = performance.now();
    const echo = Promise.withResolvers<void>();
    this.#echoed = echo.resolve;
    const late = () => echo.reject(new Error('notifications no longer arrive'));
    // After a stall of this process the echo may lie in the socket: it is read before the verdict.
    const deadline = setTimeout(() => setImmediate(late), DEAF_MS);
    signal.addEventListener('abort', late, { once: true });
    try {
      await Promise.all([client.query(`NOTIFY ${probe}`), echo.promise]);
      this.#provenAt = sentAt;
    } finally {
      clearTimeout(deadline);
      signal.removeEventListener('abort', late);
    }
  }

  #tell(hearing: boolean, error?: unknown): void {
    if (this.#told === hearing) return;
    this.#told = hearing;
    const { channel, log } = this.#options;
    if (hearing) return log.info({ channel }, 'notifications of the database are received');
    // One line, without a stack: it is expected while the database starts, and when it is restarted.
    log.warn({ channel, reason: reasonOf(error) }, 'waiting for the database, to receive its notifications');
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // What pg says of a connection that takes longer than connectionTimeoutMillis.
  return error.message === 'timeout expired' ? `it did not answer within ${DEAF_MS / 1000} s` : error.message;
}

/** The other processes that listen, as their server knows them: it hears at once when one has died. */
class Peers {
  readonly #client: Client;
  readonly #name: string;
  #known: ReadonlySet<string> = new Set();
  #wereLostBefore = false;

  constructor(client: Client, name: string) {
    this.#client = client;
    this.#name = name;
  }

  /** Whether one is gone since the last look or the one before: its last commit may have been under way then. */
  async wereLost(): Promise<boolean> {
    const { rows } = await this.#client.query<{ peer: string }>(PEERS, [this.#name]);
    const now = new Set(rows.map(({ peer }) => peer));
    const areLost = [...this.#known].some((peer) => !now.has(peer));
    const answer = areLost || this.#wereLostBefore;
    this.#known = now;
    this.#wereLostBefore = areLost;
    return answer;
  }
}
