import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, escapeIdentifier } from 'pg';
import { backoffMs } from '../../resilience/backoff.ts';
import { within } from '../../resilience/deadline.ts';
import type { Part } from '../../service/lifecycle.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { PrimaryFinder } from '../hosts/primary-finder.ts';
import { ListeningPeers, overRedis, PEERS_KNOW_MS } from './peers.ts';
import { ListenerProbe, PROBE_TIMEOUT_MS } from './probe.ts';

const PROBE_EVERY_MS = 1_000;
/**
 * The time between two checks of the connection while changes are received over Redis. Probes every second of many
 * processes, each of which wakes all listeners, would cost PostgreSQL most of what Redis saves.
 */
const CHECK_OVER_REDIS_MS = 5_000;
const BACKOFF = { minMs: 100, maxMs: 1_500 };
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
  /** True if the service can also receive changes over Redis; then the listener watches how other processes do. */
  canUseRedis?: boolean;
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
  #peers: ListeningPeers | undefined;
  /** True once every other process sends database notifications, because it knows that this one needs them. */
  #isKnown = false;
  #isOverRedis = false;
  #modeChanged = Promise.withResolvers<void>();
  /** The state that was logged last: true if the listener was receiving; undefined before the first connection. */
  #loggedState: boolean | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#primary = new PrimaryFinder(options.url, this.#applicationName);
    const help = '1 while the process receives notifications of the database on this channel, otherwise 0';
    // The second name is that of the previous release, whose dashboards and alerts continue to work for one release.
    for (const name of ['listener_receiving', 'listener_hearing']) {
      options.metrics.gauge(name, help, ['channel'], (gauge) =>
        gauge.set({ channel: options.channel }, Number(this.#isOverRedis ? this.isListening : this.isReceiving)),
      );
    }
  }

  /** True if other processes notify this one, and all that was committed until two seconds ago has been delivered. */
  get isReceiving(): boolean {
    return this.#isKnown && performance.now() - this.#verifiedAt <= PROBE_TIMEOUT_MS;
  }

  /** True if the connection worked at the last check, so that notifications of processes without Redis arrive. */
  get isListening(): boolean {
    return performance.now() - this.#verifiedAt <= CHECK_OVER_REDIS_MS + PROBE_TIMEOUT_MS;
  }

  /** True unless it is certain that all other processes receive changes over Redis. */
  get peersMayNeedNotifications(): boolean {
    return this.#peers?.mayNeedNotifications ?? true;
  }

  /** Tells the other processes whether this one receives changes over Redis or needs database notifications. */
  useRedis(isOverRedis: boolean): void {
    if (this.#isOverRedis === isOverRedis) return;
    this.#isOverRedis = isOverRedis;
    this.#isKnown = false;
    this.#modeChanged.resolve();
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
    const probe = new ListenerProbe(this.#hasSeveralHosts);
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
      await within(PROBE_TIMEOUT_MS, client.query(`LISTEN ${escapeIdentifier(channel)}; LISTEN ${probe.channel}`));
      await this.#options.onListening();
      const session = {
        client,
        peers: new ListeningPeers(client, this.#applicationName),
        isOverRedis: false,
        since: performance.now(),
      };
      for (let probes = 1; ; probes++) {
        if (probes === 1 || !session.isOverRedis) {
          this.#verifiedAt = await probe.send(client, signal, () => void this.#checkPrimary(url, lost));
        }
        this.#logState(true);
        onVerified();
        if (this.#looksAtPeers) await this.#lookAtPeers(session);
        else this.#isKnown = true;
        // A probe that was late proves nothing about the changes since it was sent.
        if (this.isReceiving || !this.#hasSeveralHosts) this.#options.onVerified();
        if (session.isOverRedis || probes % PROBES_PER_CHECK === 0) void this.#checkPrimary(url, lost);
        await this.#pause(session.isOverRedis, signal);
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      this.#verifiedAt = Number.NEGATIVE_INFINITY;
      this.#isKnown = false;
      this.#peers = undefined;
      lost.abort();
    }
  }

  get #hasSeveralHosts(): boolean {
    return this.#primary.urls.length > 1;
  }

  get #looksAtPeers(): boolean {
    return this.#options.canUseRedis === true || this.#options.onPeerLost !== undefined;
  }

  /** Tells the other processes how this one receives changes, and then reads how they do. */
  async #lookAtPeers(session: Session): Promise<void> {
    const { client, peers } = session;
    if (session.isOverRedis !== this.#isOverRedis) {
      const isOverRedis = this.#isOverRedis;
      const name = isOverRedis ? overRedis(this.#applicationName) : this.#applicationName;
      await client.query("SELECT set_config('application_name', $1, false)", [name]);
      Object.assign(session, { isOverRedis, since: performance.now() });
    }
    // What the others do does not matter any more, unless their loss does: looking is not cheap.
    if (this.#isKnown && !this.#options.onPeerLost) return;
    const startedAt = performance.now();
    if (await peers.wereLost()) this.#options.onPeerLost?.();
    this.#peers = peers;
    if (session.isOverRedis) this.#verifiedAt = startedAt;
    if (this.#isKnown || session.isOverRedis || this.#isOverRedis) return;
    // Processes that receive changes over Redis find out within some seconds that this one needs notifications.
    if (peers.useRedis && startedAt - session.since < PEERS_KNOW_MS) return;
    await this.#options.onListening();
    this.#isKnown = !this.#isOverRedis;
  }

  async #pause(isOverRedis: boolean, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const elapsed = wait(isOverRedis ? CHECK_OVER_REDIS_MS : PROBE_EVERY_MS, undefined, {
      signal: AbortSignal.any([signal, over.signal]),
    });
    await Promise.race([elapsed, this.#modeChanged.promise]);
    this.#modeChanged = Promise.withResolvers();
    over.abort();
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

  #connection(url: string, probe: ListenerProbe): Client {
    const client = new Client({
      connectionString: url,
      application_name: this.#applicationName,
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
      query_timeout: probe.lostAfterMs,
      keepAlive: true,
    });
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === probe.channel) probe.delivered();
      else this.#options.onNotification(payload);
    });
    return client;
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

/** A connection that listens, and what the other processes have been told about it. */
interface Session {
  client: Client;
  peers: ListeningPeers;
  isOverRedis: boolean;
  /** When the other processes could see it for the first time, in milliseconds of the monotonic clock. */
  since: number;
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
