import type { ClientReadableStream } from '@grpc/grpc-js';
import { LRUCache } from 'lru-cache';
import type { Clock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { AuthServiceService, KeyChange, WatchResponse } from '#proto/gen/guild/auth/v1/auth.ts';
import { BEAT_TIMEOUT_MS, isWithin } from './proof.ts';

const CHECK_INTERVAL_MS = 250;
/** Milliseconds: the minimum and maximum delay before the gateway reconnects. */
const BACKOFF = { minMs: 50, maxMs: 1_000 };
/**
 * The maximum number of API keys whose last version is stored. It is higher than the number of keys that change within
 * 15 s, the time whose changes each new stream repeats.
 */
const MAX_VERSIONS = 10_000;

export interface ChangeWatchOptions {
  client: GrpcClient<AuthServiceService>;
  clock: Clock;
  /** Returns a random number from 0 up to, but not including, 1. */
  random: () => number;
  metrics: Metrics;
  log: Logger;
  /**
   * Called when the auth service sends a heartbeat, which confirms that every API key change until now
   * has been sent.
   */
  onBeat: () => void;
  onChange: (change: KeyChange) => void;
  /**
   * Called when the stream of API key changes has ended, or the auth service has sent no heartbeat on
   * it for too long.
   */
  onDisconnect: () => void;
}

/**
 * Keeps a gRPC stream of API key changes from the auth service open, and reconnects when it ends, until it is stopped.
 */
export class ChangeWatch implements Part {
  readonly name = 'key changes';
  readonly #options: ChangeWatchOptions;
  readonly #alive;
  readonly #propagation;
  #stream: ClientReadableStream<WatchResponse> | undefined;
  #isAlive = false;
  /** True if the last log line of this stream said that key changes are received. */
  #isLoggedAlive = false;
  /** The error that ended the last stream of key changes. */
  #lastError: Error | undefined;
  /** When the current stream of key changes was opened or sent its last heartbeat. */
  #lastReceivedAt = 0;
  /** The time of the last heartbeat of any stream of key changes. */
  #lastBeat = Number.POSITIVE_INFINITY;
  /** The last received version of each API key. */
  readonly #versions = new LRUCache<string, number>(maxEntries(MAX_VERSIONS));
  #failures = 0;
  #stopped = false;
  #checks: NodeJS.Timeout | undefined;
  #reconnect: NodeJS.Timeout | undefined;

  constructor(options: ChangeWatchOptions) {
    this.#options = options;
    this.#alive = options.metrics.gauge(
      'gateway_key_stream_alive',
      '1 while this gateway receives API key changes from the auth service, otherwise 0',
    );
    this.#alive.set(0);
    this.#propagation = options.metrics.duration(
      'gateway_key_change_propagation_seconds',
      'Time from the change of an API key in the auth service until this gateway received it',
    );
  }

  async start(): Promise<void> {
    this.#connect();
    this.#checks = setInterval(() => {
      this.#disconnectIfSilent();
      this.#logLoss();
    }, CHECK_INTERVAL_MS).unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#checks);
    clearTimeout(this.#reconnect);
    this.#stream?.cancel();
  }

  #connect(): void {
    const stream = this.#options.client.watch({});
    this.#stream = stream;
    this.#lastReceivedAt = this.#options.clock.now();
    stream.on('data', (message: WatchResponse) => this.#receive(stream, message));
    stream.on('error', (error) => this.#handleEnd(stream, error));
    stream.on('end', () => this.#handleEnd(stream));
  }

  #receive(stream: ClientReadableStream<WatchResponse>, { event }: WatchResponse): void {
    if (stream !== this.#stream) return;
    if (event?.$case === 'beat') this.#handleBeat();
    if (event?.$case === 'change') this.#handleChange(event.value);
  }

  #handleBeat(): void {
    this.#lastReceivedAt = this.#lastBeat = this.#options.clock.now();
    this.#failures = 0;
    this.#options.onBeat();
    this.#setAlive(true);
    if (this.#isLoggedAlive) return;
    this.#isLoggedAlive = true;
    this.#options.log.info('receiving API key changes from auth');
  }

  #handleChange(change: KeyChange): void {
    // A key change that was made before the first stream was opened does not show how long changes take to arrive.
    const wasWatching = this.#isAlive || change.changedAtMs > this.#lastBeat;
    if (this.#isNew(change) && wasWatching) {
      this.#propagation.observe({}, Math.max(0, this.#options.clock.now() - change.changedAtMs) / 1000);
    }
    this.#options.onChange(change);
  }

  /**
   * False if this version of the API key was already received: each new stream repeats the changes of the last seconds.
   */
  #isNew({ keyId, version }: KeyChange): boolean {
    if (this.#versions.get(keyId) === version) return false;
    this.#versions.set(keyId, version);
    return true;
  }

  #disconnectIfSilent(): void {
    const stream = this.#stream;
    if (!stream || isWithin(this.#options.clock.now() - this.#lastReceivedAt, BEAT_TIMEOUT_MS)) return;
    this.#handleEnd(stream, new Error('the stream sent no beat in time'));
    stream.cancel();
  }

  /**
   * Logs the loss of the stream of key changes if no new stream is open after BEAT_TIMEOUT_MS. The auth service
   * regularly ends streams to spread them over its replicas, and the gateway usually reconnects in time.
   */
  #logLoss(): void {
    if (!this.#isLoggedAlive || isWithin(this.#options.clock.now() - this.#lastBeat, BEAT_TIMEOUT_MS)) return;
    this.#isLoggedAlive = false;
    this.#options.log.warn({ err: this.#lastError }, 'no longer receiving API key changes from auth, connecting again');
  }

  #handleEnd(stream: ClientReadableStream<WatchResponse>, error?: Error): void {
    if (stream !== this.#stream) return;
    this.#stream = undefined;
    if (this.#stopped) return;
    this.#lastError = error;
    if (this.#isAlive) {
      this.#setAlive(false);
      this.#options.onDisconnect();
    }
    const delayMs = backoffMs(++this.#failures, { ...BACKOFF, random: this.#options.random });
    this.#reconnect = setTimeout(() => this.#connect(), delayMs).unref();
  }

  #setAlive(isAlive: boolean): void {
    this.#isAlive = isAlive;
    this.#alive.set(isAlive ? 1 : 0);
  }
}
