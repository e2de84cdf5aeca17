import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { backoffMs } from '../resilience/backoff.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import type { RedisChannels } from './redis-channels.ts';
import { RedisPeers } from './redis-peers.ts';

const PROBE_EVERY_MS = 1_000;
/** The time in milliseconds after which a subscription that has not delivered a probe is considered lost. */
const PROBE_TIMEOUT_MS = 2_000;
const BACKOFF = { minMs: 100, maxMs: 1_500 };
/** The beginning of a probe. Names of changes never begin like this. */
const PROBE = 'probe/';

export interface RedisSubscriptionOptions {
  channels: RedisChannels;
  log: Logger;
  onMessage: (payload: string) => void;
  /** Called with each new subscription; changes before it may have been missed. */
  onSubscribed: () => void;
  /** Called when it becomes proven that messages arrive, and when that is lost. */
  onProven: (isProven: boolean) => void;
  onPeerLost?: (() => void) | undefined;
}

/**
 * Receives messages of Redis. Because a half-open connection is silent, the process also sends itself a probe once a
 * second on each channel. A subscription that is lost or does not deliver the probes is replaced.
 */
export class RedisSubscription implements Part {
  readonly name = 'Redis subscription';
  readonly #options: RedisSubscriptionOptions;
  readonly #process = randomUUID();
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** When the latest probes that were delivered were sent, in milliseconds of the monotonic clock. */
  #provenAt = Number.NEGATIVE_INFINITY;
  #peers = new RedisPeers();
  #probeDelivered: (probe: string) => void = () => undefined;
  #loggedState: boolean | undefined;

  constructor(options: RedisSubscriptionOptions) {
    this.#options = options;
  }

  /** True if all messages that were published until two seconds ago have been delivered. */
  get isProven(): boolean {
    return performance.now() - this.#provenAt <= PROBE_TIMEOUT_MS;
  }

  /** Starts to connect to Redis in the background. */
  async start(): Promise<void> {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    for (let attempts = 1; !signal.aborted; attempts++) {
      try {
        await this.#subscribe(() => (attempts = 0));
      } catch (error) {
        if (signal.aborted) return;
        this.#logState(false, error);
      }
      await wait(backoffMs(attempts, BACKOFF), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Receives messages on one subscription until it is lost; then throws the reason. */
  async #subscribe(onProven: () => void): Promise<never> {
    const { channels, onSubscribed } = this.#options;
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.#stopped.signal]);
    const close = await channels.subscribe(
      (message) => this.#received(message),
      (reason) => lost.abort(reason),
    );
    try {
      this.#peers = new RedisPeers();
      onSubscribed();
      for (;;) {
        signal.throwIfAborted();
        await this.#probe(signal);
        this.#logState(true);
        onProven();
        this.#options.onProven(true);
        await wait(PROBE_EVERY_MS, undefined, { signal });
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      this.#provenAt = Number.NEGATIVE_INFINITY;
      close();
      this.#options.onProven(false);
    }
  }

  #received(message: string): void {
    if (!message.startsWith(PROBE)) return this.#options.onMessage(message);
    const [, peer = '', ...probe] = message.split('/');
    this.#peers.saw(peer, performance.now());
    if (peer === this.#process) this.#probeDelivered(probe.join('/'));
  }

  /** Sends a probe on each channel and resolves when all were delivered: then so were all earlier messages. */
  async #probe(signal: AbortSignal): Promise<void> {
    const { channels, onPeerLost } = this.#options;
    const sentAt = performance.now();
    const missing = new Set(channels.names.map((_, index) => `${sentAt}/${index}`));
    const delivery = Promise.withResolvers<void>();
    this.#probeDelivered = (probe) => {
      missing.delete(probe);
      if (missing.size === 0) delivery.resolve();
    };
    const fail = () => delivery.reject(new Error('messages of Redis no longer arrive'));
    // If this process has stalled, the probe may already be waiting in the socket; setImmediate lets it be read first.
    const deadline = setTimeout(() => setImmediate(fail), PROBE_TIMEOUT_MS);
    signal.addEventListener('abort', fail, { once: true });
    try {
      const sent = channels.names.map((channel, index) =>
        channels.publish(channel, `${PROBE}${this.#process}/${sentAt}/${index}`),
      );
      const [receivers] = await Promise.all([Promise.all(sent), delivery.promise]);
      this.#provenAt = sentAt;
      if (this.#peers.wereLost(Math.min(...receivers), performance.now())) onPeerLost?.();
    } finally {
      clearTimeout(deadline);
      signal.removeEventListener('abort', fail);
    }
  }

  #logState(isReceiving: boolean, error?: unknown): void {
    if (this.#loggedState === isReceiving) return;
    this.#loggedState = isReceiving;
    const { log } = this.#options;
    if (isReceiving) return log.info('receiving changes over Redis');
    // The warning has no stack trace, because a lost connection is normal while Redis starts or restarts.
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ reason }, 'not receiving changes over Redis, using database notifications until it works again');
  }
}
