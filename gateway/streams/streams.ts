import type { ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import type { Rejection } from '#kit/errors.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import type { ApiKey } from '#kit/security/api-key.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { KeyChange, KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import type { Keys } from '../keys/keys.ts';
import { EventRelay, STREAM_ENDS, type StreamEnd } from './event-relay.ts';
import { WatchedKey } from './watched-key.ts';

/** How often the expiry times of all API keys with streams are checked. */
const CHECK_EVERY_MS = 250;
/** Every so many checks, API keys whose cached grant is not certainly current are verified again. */
const CHECKS_PER_VERIFICATION = 4;
const MAX_VERIFICATIONS = 32;
/** How long the verification of an API key may fail before its streams are ended. */
const UNVERIFIED_MS = 3_000;

const BECAUSE_OF_KEY: readonly StreamEnd[] = ['key', 'permission', 'unverified'];

export interface StreamsOptions {
  keys: Pick<Keys, 'current' | 'find'>;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
}

export interface OpenOptions {
  response: ServerResponse;
  key: ApiKey;
  grant: KeyGrant;
  /** Checks the address and the scope of the request against a newer grant of the API key. */
  check: (grant: KeyGrant) => Rejection;
  /** Called once when the stream has ended. */
  ended: () => void;
}

/**
 * The streams of events that this gateway relays, by API key. A stream is ended within a second when its key becomes
 * invalid or loses what the stream needs, or within 5 s while no key changes arrive from auth; and when the gateway drains.
 */
export class Streams implements Part {
  readonly name = 'event streams';
  readonly #options: StreamsOptions;
  /** By the hash of the API key. */
  readonly #keys = new Map<string, WatchedKey>();
  /** The API keys that changed and were not verified again yet. */
  readonly #unverified = new Set<WatchedKey>();
  readonly #ends;
  #open = 0;
  #checks = 0;
  #timer: NodeJS.Timeout | undefined;
  #isVerifying = false;
  #isDraining = false;

  constructor(options: StreamsOptions) {
    this.#options = options;
    const { metrics } = options;
    metrics.gauge('gateway_event_streams', 'Open streams of events, and those that are being opened', [], (gauge) =>
      gauge.set(this.#open),
    );
    const help =
      'Streams of events that ended, by reason: the service ended it (service) or was lost (lost), the gateway drains (drain), the client disconnected (client), the API key became invalid (key), lost a scope or the address (permission), or could not be verified (unverified)';
    this.#ends = metrics.counterOf('gateway_event_stream_ends_total', help, 'reason', STREAM_ENDS);
  }

  /** The number of streams that are open or being opened. */
  get size(): number {
    return this.#open;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  }

  /** Ends all streams; clients connect again, to another gateway. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const watched of this.#keys.values()) watched.end('drain');
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** Returns the relay of a stream that is about to be opened. The stream counts until it ends or its response closes. */
  open({ response, key, grant, check, ended }: OpenOptions): EventRelay {
    const watched = this.#keys.get(key.hashText) ?? new WatchedKey(key, grant);
    this.#keys.set(key.hashText, watched);
    const relay = new EventRelay({
      response,
      ended: (end) => {
        watched.streams.delete(stream);
        if (watched.streams.size === 0 && this.#keys.get(key.hashText) === watched) this.#keys.delete(key.hashText);
        this.#open--;
        if (relay.hasBegun) this.#count(end, grant);
        ended();
      },
    });
    const stream = { relay, grant, check };
    watched.streams.add(stream);
    this.#open++;
    if (this.#isDraining) relay.end('drain');
    // The API key may have changed since the request was authenticated.
    else if (this.#options.keys.current(key)?.version !== grant.version) this.#verifySoon(watched);
    return relay;
  }

  /** Called when an API key has changed, after its cached grants were dropped. */
  handleChange({ hashes }: KeyChange): void {
    for (const hash of hashes) {
      const watched = this.#keys.get(hash.toString('latin1'));
      if (watched) this.#verifySoon(watched);
    }
  }

  #count(reason: StreamEnd, { keyId }: KeyGrant): void {
    this.#ends.inc({ reason });
    if (BECAUSE_OF_KEY.includes(reason))
      this.#options.log.info({ reason, keyId }, 'event stream ended because of its API key');
  }

  #check(): void {
    const now = this.#options.clock.now();
    const isTurn = ++this.#checks % CHECKS_PER_VERIFICATION === 0;
    for (const watched of this.#keys.values()) {
      if (watched.hasExpired(now)) watched.end('key');
      else if (isTurn && !this.#options.keys.current(watched.key)) this.#unverified.add(watched);
    }
    void this.#verifyAll();
  }

  #verifySoon(watched: WatchedKey): void {
    this.#unverified.add(watched);
    void this.#verifyAll();
  }

  async #verifyAll(): Promise<void> {
    if (this.#isVerifying) return;
    this.#isVerifying = true;
    while (this.#unverified.size > 0) {
      const all = [...this.#unverified];
      this.#unverified.clear();
      await inParallel(all, MAX_VERIFICATIONS, (watched) => this.#verify(watched));
    }
    this.#isVerifying = false;
  }

  async #verify(watched: WatchedKey): Promise<void> {
    const { keys, clock } = this.#options;
    try {
      watched.apply(await keys.find(watched.key), clock.now());
    } catch {
      // Requests with this API key get 503 now. The next check verifies it again.
      const now = clock.now();
      watched.failingSince ??= now;
      if (now - watched.failingSince >= UNVERIFIED_MS) watched.end('unverified');
    }
  }
}
