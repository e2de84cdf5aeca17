import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, escapeIdentifier } from 'pg';
import { backoffMs } from '../resilience/backoff.ts';
import { within } from '../resilience/deadline.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { PrimaryFinder } from './hosts/primary-finder.ts';

const PROBE_EVERY_MS = 1_000;
/** The query for all sessions of listeners with the same name in the same database. */
const PEERS = `SELECT pid || ' ' || backend_start AS peer FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = $1`;
/** The time in milliseconds after which a connection that has not delivered a probe is considered lost. */
const PROBE_TIMEOUT_MS = 2_000;
const BACKOFF = { minMs: 100, maxMs: 1_500 };
/**
 * With several hosts each probe also writes, so that its commit waits for a synchronous standby: without that a former
 * primary that is cut off from the other servers would prove that all changes arrive, while the next one commits others.
 */
const REPLICATED = "SELECT pg_logical_emit_message(true, 'listener', '')";
/**
 * With several hosts, the time in milliseconds after which a connection is replaced whose probe is late. It is longer,
 * because the session of a commit that waits for a standby stays on the server when its connection is closed.
 */
const LATE_PROBE_TIMEOUT_MS = 10_000;
/** The number of probes after which a listener with several hosts checks that it listens to the primary. */
const PROBES_PER_CHECK = 4;

export interface ListenerOptions {
  /** The URL of the database, without a transaction pooler in between, because LISTEN belongs to a session. */
  url: string;
  /** The name of the listening service, shown in pg_stat_activity. */
  name: string;
  channel: string;
  log: Logger;
  metrics: Metrics;
  /** Called for each database notification, in the order of the commits. */
  onNotification(payload: string): void;
  /** Called after each new connection has started to listen. Read here the changes whose notifications were missed. */
  onListening(): Promise<void>;
  /**
   * Called about once a second, when all notifications committed before the last probe was sent have been delivered.
   */
  onVerified(): void;
  /**
   * Called within about a second after another process with the same listener name stops listening, and again a second
   * later. The lost process may not have sent the notification of its last commit.
   */
  onPeerLost?(): void;
}

/**
 * Receives database notifications on a separate connection. Because a half-open connection is silent, the listener also
 * notifies itself once a second as a probe. A connection that is lost or does not deliver the probe is replaced.
 */
export class Listener implements Part {
  readonly name = 'listener';
  readonly #options: ListenerOptions;
  readonly #primary: PrimaryFinder;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** When the latest probe that was delivered was sent, in milliseconds of the monotonic clock. */
  #verifiedAt = Number.NEGATIVE_INFINITY;
  #probeDelivered: (() => void) | undefined;
  /** The state that was logged last: true if the listener was receiving; undefined before the first connection. */
  #loggedState: boolean | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#primary = new PrimaryFinder(options.url, this.#applicationName);
    options.metrics.gauge(
      'listener_hearing',
      '1 while the process receives notifications of the database on this channel, otherwise 0',
      ['channel'],
      (gauge) => gauge.set({ channel: options.channel }, this.isReceiving ? 1 : 0),
    );
  }

  /** True if all database notifications committed until two seconds ago have been delivered. */
  get isReceiving(): boolean {
    return performance.now() - this.#verifiedAt <= PROBE_TIMEOUT_MS;
  }

  /** Starts to connect to the database in the background. */
  async start(): Promise<void> {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    let attempts = 0;
    while (!signal.aborted) {
      try {
        await this.#listen(() => (attempts = 0));
      } catch (error) {
        if (signal.aborted) return;
        this.#logState(false, error);
      }
      attempts++;
      await wait(backoffMs(attempts, BACKOFF), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Listens on one database connection until it is lost; then throws the reason. */
  async #listen(onVerified: () => void): Promise<never> {
    const { channel } = this.#options;
    // Each connection sends its probes on a channel of its own, so that no other process receives them.
    const probe = `probe_${randomBytes(8).toString('hex')}`;
    const url = await this.#primary.find();
    const client = this.#connection(url, probe);
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.#stopped.signal]);
    client.on('error', (error) => lost.abort(error));
    client.on('end', () => lost.abort(new Error('the connection was closed')));
    signal.addEventListener('abort', () => {
      // The handler is removed, so that late notifications of a lost connection are not mixed with those of the next
      // one.
      client.removeAllListeners('notification');
      // The end is not awaited, because the other side of a lost connection may never close it.
      void client.end().catch(() => undefined);
    });
    try {
      await Promise.race([client.connect(), untilAborted(signal)]);
      await within(PROBE_TIMEOUT_MS, client.query(`LISTEN ${escapeIdentifier(channel)}; LISTEN ${probe}`));
      await this.#options.onListening();
      const peers = new Peers(client, this.#applicationName);
      for (let probes = 1; ; probes++) {
        await this.#probe({ client, probe, signal, onLate: () => void this.#checkPrimary(url, lost) });
        this.#logState(true);
        onVerified();
        // A probe that was late proves nothing about the changes since it was sent.
        if (this.isReceiving || !this.#hasSeveralHosts) this.#options.onVerified();
        if (this.#options.onPeerLost && (await peers.wereLost())) this.#options.onPeerLost();
        if (probes % PROBES_PER_CHECK === 0) void this.#checkPrimary(url, lost);
        await wait(PROBE_EVERY_MS, undefined, { signal });
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      this.#verifiedAt = Number.NEGATIVE_INFINITY;
      lost.abort();
    }
  }

  get #hasSeveralHosts(): boolean {
    return this.#primary.urls.length > 1;
  }

  /** The time in milliseconds after which a connection whose probe is late is replaced. */
  get #lostAfterMs(): number {
    return this.#hasSeveralHosts ? LATE_PROBE_TIMEOUT_MS : PROBE_TIMEOUT_MS;
  }

  get #applicationName(): string {
    return `${this.#options.name} listener`;
  }

  /**
   * Ends the connection if another host is the primary now. A former primary that is cut off from the other servers
   * would still deliver probes. Without any primary the connection stays, because its loss is noticed by the probes.
   */
  async #checkPrimary(url: string, lost: AbortController): Promise<void> {
    const primary = await this.#primary.find().catch(() => url);
    if (primary !== url) lost.abort(new Error('another host has become the primary'));
  }

  #connection(url: string, probe: string): Client {
    const client = new Client({
      connectionString: url,
      application_name: this.#applicationName,
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
      query_timeout: this.#lostAfterMs,
      keepAlive: true,
    });
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === probe) this.#probeDelivered?.();
      else this.#options.onNotification(payload);
    });
    return client;
  }

  /**
   * Sends a probe and resolves when it was delivered. Notifications arrive in order, so all earlier ones have been
   * delivered too. Calls `onLate` again and again once the probe is late.
   */
  async #probe({ client, probe, signal, onLate }: ProbeOptions): Promise<void> {
    const sentAt = performance.now();
    const delivery = Promise.withResolvers<void>();
    this.#probeDelivered = delivery.resolve;
    const fail = () => delivery.reject(new Error('notifications no longer arrive'));
    // If this process has stalled, the probe's notification may already be waiting in the socket; setImmediate lets it
    // be read before the probe fails.
    const deadline = setTimeout(() => setImmediate(fail), this.#lostAfterMs);
    const late = setInterval(onLate, PROBE_TIMEOUT_MS);
    signal.addEventListener('abort', fail, { once: true });
    try {
      const text = this.#hasSeveralHosts ? `${REPLICATED}; NOTIFY ${probe}` : `NOTIFY ${probe}`;
      await Promise.all([client.query(text), delivery.promise]);
      this.#verifiedAt = sentAt;
    } finally {
      clearTimeout(deadline);
      clearInterval(late);
      signal.removeEventListener('abort', fail);
    }
  }

  #logState(isReceiving: boolean, error?: unknown): void {
    if (this.#loggedState === isReceiving) return;
    this.#loggedState = isReceiving;
    const { channel, log } = this.#options;
    if (isReceiving) return log.info({ channel }, 'receiving database notifications');
    // The warning has no stack trace, because a lost connection is normal while the database starts or restarts.
    log.warn({ channel, reason: reasonOf(error) }, 'not receiving database notifications, connecting again');
  }
}

interface ProbeOptions {
  client: Client;
  /** The channel of the probe. */
  probe: string;
  /** Aborted when the connection is lost. */
  signal: AbortSignal;
  onLate: () => void;
}

/** Returns a promise that rejects when the signal is aborted and never resolves. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // This is pg's error message for a connection attempt that takes longer than connectionTimeoutMillis.
  return error.message === 'timeout expired' ? `no response within ${PROBE_TIMEOUT_MS / 1000} s` : error.message;
}

/**
 * Watches the sessions of other listening processes in pg_stat_activity, where PostgreSQL removes a dead process
 * immediately.
 */
class Peers {
  readonly #client: Client;
  readonly #name: string;
  #known: ReadonlySet<string> = new Set();
  #wereLostBefore = false;

  constructor(client: Client, name: string) {
    this.#client = client;
    this.#name = name;
  }

  /**
   * True if the session of another listener disappeared since the last call or the call before: its last commit may
   * still have been in progress.
   */
  async wereLost(): Promise<boolean> {
    const { rows } = await within(PROBE_TIMEOUT_MS, this.#client.query<{ peer: string }>(PEERS, [this.#name]));
    const now = new Set(rows.map(({ peer }) => peer));
    const areLost = [...this.#known].some((peer) => !now.has(peer));
    const result = areLost || this.#wereLostBefore;
    this.#known = now;
    this.#wereLostBefore = areLost;
    return result;
  }
}
