import type { ServerResponse } from 'node:http';
import { SharedSlots } from '#kit/downstream/slots.ts';
import { ApiError } from '#kit/errors.ts';
import { COMMENT_EVERY_MS, EVENT_STREAM_HEADERS } from '#kit/http/event-stream.ts';
import { writeResponseHead } from '#kit/http/response-headers.ts';
import type { Upstream } from '#kit/http/upstream.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Caller } from '#proto/gen/guild/auth/v1/console.ts';
import type { AuthClient } from '../http/sign-in.ts';
import { GuildStream } from './guild-stream.ts';
import { SessionChecks } from './session-checks.ts';
import { STREAM_ENDS, Viewer } from './viewer.ts';

const MAX_STREAMS_PER_PERSON = 5;

export interface EventStreamsOptions {
  auth: AuthClient;
  events: Upstream;
  metrics: Metrics;
  log: Logger;
  maxStreams: number;
}

export interface OpenStream {
  caller: Caller;
  personId: string;
  guildId: string;
  response: ServerResponse;
  lastEventId: number | undefined;
}

/** The streams of events of all browsers. Those of one guild and role share a connection to the events service. */
export class EventStreams implements Part {
  readonly name = 'event streams';
  readonly #options: EventStreamsOptions;
  readonly #slots: SharedSlots<string>;
  readonly #shared = new Map<string, GuildStream>();
  readonly #checks: SessionChecks;
  readonly #ends;
  readonly #failures;
  #comments: NodeJS.Timeout | undefined;
  #isDraining = false;

  constructor(options: EventStreamsOptions) {
    const { auth, log, metrics, maxStreams } = options;
    this.#options = options;
    this.#slots = new SharedSlots(maxStreams, MAX_STREAMS_PER_PERSON);
    this.#checks = new SessionChecks({ auth, log, viewers: () => this.#viewers() });
    const open = 'Open streams of events of browsers';
    metrics.gauge('console_event_streams', open, [], (gauge) => gauge.set(this.#slots.taken));
    const upstream = 'Connections to the events service that browsers share';
    metrics.gauge('console_shared_event_streams', upstream, [], (gauge) => gauge.set(this.#shared.size));
    const ends =
      'Streams of events that ended, by reason: the browser disconnected (browser) or read too slowly (slow), the session ended (session), the role changed (role), auth was unavailable (unverified), or the console drains (drain)';
    this.#ends = metrics.counterOf('console_event_stream_ends_total', ends, 'reason', STREAM_ENDS);
    const failures = 'Lost connections to the events service, each of which is opened again';
    this.#failures = metrics.counter('console_shared_event_stream_losses_total', failures, []);
  }

  async start(): Promise<void> {
    this.#checks.start();
    this.#comments = setInterval(() => {
      for (const viewer of this.#viewers()) viewer.comment();
    }, COMMENT_EVERY_MS).unref();
  }

  /** Ends all streams; browsers connect again, to another console. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const viewer of this.#viewers()) viewer.end('drain');
  }

  async stop(): Promise<void> {
    clearInterval(this.#comments);
    this.#checks.stop();
    for (const stream of this.#shared.values()) stream.stop();
  }

  /**
   * Begins a stream. Throws NOT_SIGNED_IN, ROLE_TOO_LOW, and UNAVAILABLE if too many streams are open or the console
   * drains.
   */
  async open({ caller, personId, guildId, response, lastEventId }: OpenStream): Promise<void> {
    const role = await this.#checks.roleOf(caller, guildId);
    if (this.#isDraining) throw new ApiError('UNAVAILABLE');
    if (response.destroyed) return;
    if (!this.#slots.take(personId)) throw new ApiError('UNAVAILABLE', { message: TOO_MANY, retryAfter: 10 });
    const key = `${guildId} ${role}`;
    const shared = this.#shared.get(key) ?? this.#share(key, guildId);
    writeResponseHead(response, 200, EVENT_STREAM_HEADERS);
    response.flushHeaders();
    const viewer = new Viewer({
      caller,
      guildId,
      role,
      response,
      ended: (ended, end) => {
        this.#slots.release(personId);
        this.#ends.inc({ reason: end });
        shared.remove(ended);
        if (!shared.isEmpty) return;
        shared.stop();
        if (this.#shared.get(key) === shared) this.#shared.delete(key);
      },
    });
    viewer.comment();
    shared.add(viewer, lastEventId);
  }

  #share(key: string, guildId: string): GuildStream {
    const { auth, events, log } = this.#options;
    const stream = new GuildStream({ guildId, auth, events, log, lost: () => this.#failures.inc({}) });
    this.#shared.set(key, stream);
    return stream;
  }

  *#viewers(): Generator<Viewer> {
    for (const stream of this.#shared.values()) yield* stream.viewers;
  }
}

const TOO_MANY = 'Too many streams of events are open: close another page of the console, or try again soon';
