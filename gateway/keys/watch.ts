import type { ClientReadableStream } from '@grpc/grpc-js';
import type { Clock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { dropOldest } from '#kit/resilience/bounded.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { AuthServiceService, KeyChange, WatchResponse } from '#proto/gen/guild/auth/v1/auth.ts';
import { isWithin, SILENCE_MS } from './proof.ts';

const CHECK_EVERY_MS = 250;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** Of how many keys the last change is remembered: more than change within the seconds that auth repeats itself. */
const MAX_HEARD = 10_000;

export interface ChangeWatchOptions {
  client: GrpcClient<AuthServiceService>;
  clock: Clock;
  /** From 0 up to 1. */
  random: () => number;
  metrics: Metrics;
  log: Logger;
  /** Auth says that every change until now was told. */
  beat: () => void;
  changed: (change: KeyChange) => void;
  /** A stream that was alive has ended or fallen silent. */
  cut: () => void;
}

/** Keeps one stream of changes open to auth, until it is stopped. */
export class ChangeWatch implements Part {
  readonly name = 'key changes';
  readonly #options: ChangeWatchOptions;
  readonly #alive;
  readonly #propagation;
  #stream: ClientReadableStream<WatchResponse> | undefined;
  #isAlive = false;
  /** Whether the log says that changes are heard, and why they may be no longer. */
  #isToldAlive = false;
  #lost: Error | undefined;
  /** When the stream was opened or last beat. */
  #heardAt = 0;
  /** The last beat of any stream. */
  #lastBeat = Number.POSITIVE_INFINITY;
  /** The last version heard of, by key; the oldest first. */
  readonly #heard = new Map<string, number>();
  #failures = 0;
  #stopped = false;
  #checks: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(options: ChangeWatchOptions) {
    this.#options = options;
    this.#alive = options.metrics.gauge('gateway_key_stream_alive', '1 while changes of keys are heard');
    this.#alive.set(0);
    this.#propagation = options.metrics.duration(
      'gateway_key_change_propagation_seconds',
      'From the change of a key until this gateway heard of it',
    );
  }

  async start(): Promise<void> {
    this.#connect();
    this.#checks = setInterval(() => {
      this.#cutIfSilent();
      this.#tellLoss();
    }, CHECK_EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#checks);
    clearTimeout(this.#pause);
    this.#stream?.cancel();
  }

  #connect(): void {
    const stream = this.#options.client.watch({});
    this.#stream = stream;
    this.#heardAt = this.#options.clock.now();
    stream.on('data', (message: WatchResponse) => this.#receive(stream, message));
    stream.on('error', (error) => this.#ended(stream, error));
    stream.on('end', () => this.#ended(stream));
  }

  #receive(stream: ClientReadableStream<WatchResponse>, { event }: WatchResponse): void {
    if (stream !== this.#stream) return;
    if (event?.$case === 'beat') this.#beat();
    if (event?.$case === 'change') this.#change(event.value);
  }

  #beat(): void {
    this.#heardAt = this.#lastBeat = this.#options.clock.now();
    this.#failures = 0;
    this.#options.beat();
    this.#setAlive(true);
    if (this.#isToldAlive) return;
    this.#isToldAlive = true;
    this.#options.log.info('changes of keys are heard');
  }

  #change(change: KeyChange): void {
    // What was made before the first stream was there says nothing of how long changes take.
    const isInTime = this.#isAlive || change.changedAtMs > this.#lastBeat;
    if (this.#isNews(change) && isInTime) {
      this.#propagation.observe({}, Math.max(0, this.#options.clock.now() - change.changedAtMs) / 1000);
    }
    this.#options.changed(change);
  }

  /** Auth tells the changes of the last seconds again and again. */
  #isNews({ keyId, version }: KeyChange): boolean {
    if (this.#heard.get(keyId) === version) return false;
    this.#heard.delete(keyId);
    this.#heard.set(keyId, version);
    dropOldest(this.#heard, MAX_HEARD);
    return true;
  }

  #cutIfSilent(): void {
    const stream = this.#stream;
    if (!stream || isWithin(this.#options.clock.now() - this.#heardAt, SILENCE_MS)) return;
    this.#ended(stream, new Error('the stream has fallen silent'));
    stream.cancel();
  }

  /** Not at once: auth ends each stream after a while, so that new replicas get their share, and the next one beats. */
  #tellLoss(): void {
    if (!this.#isToldAlive || isWithin(this.#options.clock.now() - this.#lastBeat, SILENCE_MS)) return;
    this.#isToldAlive = false;
    this.#options.log.warn({ err: this.#lost }, 'changes of keys are no longer heard');
  }

  #ended(stream: ClientReadableStream<WatchResponse>, error?: Error): void {
    if (stream !== this.#stream) return;
    this.#stream = undefined;
    if (this.#stopped) return;
    this.#lost = error;
    if (this.#isAlive) {
      this.#setAlive(false);
      this.#options.cut();
    }
    this.#pause = setTimeout(() => this.#connect(), this.#nextPause()).unref();
  }

  /** Doubles with every failure; half of it is left to chance, so that gateways do not all return at once. */
  #nextPause(): number {
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    return (pause * (1 + this.#options.random())) / 2;
  }

  #setAlive(isAlive: boolean): void {
    this.#isAlive = isAlive;
    this.#alive.set(isAlive ? 1 : 0);
  }
}
