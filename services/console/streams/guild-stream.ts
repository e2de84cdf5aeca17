import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { requestContext } from '#kit/context.ts';
import { asApiError, isServerError, SERVER_ERRORS_FROM } from '#kit/errors.ts';
import { COMMENT_EVERY_MS } from '#kit/http/event-stream.ts';
import { newRequestId, REQUEST_ID_HEADER } from '#kit/http/request-id.ts';
import type { Upstream } from '#kit/http/upstream.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import { PRINCIPAL_HEADER } from '#kit/security/principal.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import type { AuthClient } from '../http/sign-in.ts';
import { FrameReader } from './frames.ts';
import { ReplayBuffer } from './replay-buffer.ts';
import { RELOAD, type Viewer } from './viewer.ts';

const TARGET = `${API_PREFIX}/events/stream`;
/** A service that sends nothing for this long is lost: two comments and some more are missing. */
const SILENT_MS = 2.5 * COMMENT_EVERY_MS;
/** The number of past events that a new viewer gets. */
const RECENT = 50;
/** The number of missed events up to which the first viewer gets all of them. */
const MAX_RESUMED = 200;
const BACKOFF = { minMs: 500, maxMs: 15_000 };
const SUCCESS = 200;

/** The part of EVENTS_GONE that has the range of the stored events. */
const gone = z.object({ details: z.object({ oldest_seq: z.int(), newest_seq: z.int() }) });

export interface GuildStreamOptions {
  guildId: string;
  auth: AuthClient;
  events: Upstream;
  log: Logger;
  /** Called when the connection to the events service has failed or ended. */
  lost: () => void;
}

/**
 * One connection to the events service for all viewers of a guild that have the same role, and so may see the same events.
 * It is opened with the session of any of them, and again when it is lost.
 */
export class GuildStream {
  readonly #options: GuildStreamOptions;
  readonly #viewers = new Set<Viewer>();
  readonly #buffer = new ReplayBuffer();
  readonly #stopped = new AbortController();
  #hasBegun = false;
  #hasRead = false;
  /** The seq after which the first viewer continues. */
  #resumeAfter: number | undefined;
  #failures = 0;
  #retryMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: GuildStreamOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#viewers.size === 0;
  }

  get viewers(): Iterable<Viewer> {
    return this.#viewers;
  }

  /** Adds a viewer, and sends it the events after `lastEventId`. */
  add(viewer: Viewer, lastEventId: number | undefined): void {
    this.#viewers.add(viewer);
    if (!this.#hasBegun) return this.#begin(lastEventId);
    const missed = lastEventId === undefined ? this.#buffer.last(RECENT) : this.#buffer.since(lastEventId);
    if (!missed) return viewer.write(RELOAD);
    if (missed.length > 0) viewer.write(Buffer.concat(missed));
  }

  remove(viewer: Viewer): void {
    this.#viewers.delete(viewer);
  }

  /** Closes the connection to the events service for good. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#stopped.abort();
  }

  /** Begins where the first viewer was. */
  #begin(lastEventId: number | undefined): void {
    this.#hasBegun = true;
    this.#resumeAfter = lastEventId;
    // The connection outlives the request of the first viewer.
    requestContext.run({ requestId: newRequestId(), route: 'streamEvents' }, () => void this.#connect());
  }

  async #connect(): Promise<void> {
    try {
      await this.#read(await this.#open());
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      this.#options.log.warn({ err: error }, 'stream of events from the events service failed, will retry');
    }
    if (this.#stopped.signal.aborted) return;
    this.#options.lost();
    const delay = this.#retryMs ?? backoffMs(++this.#failures, BACKOFF);
    this.#retryMs = undefined;
    this.#timer = setTimeout(() => void this.#connect(), delay);
  }

  /** Opens the stream with the session of the first viewer that auth accepts. */
  async #open(): Promise<IncomingMessage> {
    const principal = await this.#principal();
    if (this.#buffer.lastSeq === undefined) this.#startAt(await this.#range(principal));
    const response = await this.#request(principal, this.#buffer.lastSeq ?? 0);
    const { statusCode = SERVER_ERRORS_FROM } = response;
    if (statusCode === SUCCESS) return response;
    response.destroy();
    // The service cannot continue after the last event, for example because it is not stored any more.
    if (statusCode < SERVER_ERRORS_FROM) this.#buffer.clear();
    throw new Error(`the events service responded with ${statusCode}`);
  }

  #request(principal: string, after: number): Promise<IncomingMessage> {
    const { guildId, events } = this.#options;
    const headers = {
      [PRINCIPAL_HEADER]: principal,
      [REQUEST_ID_HEADER]: requestContext.getStore()?.requestId ?? newRequestId(),
      'x-guild-id': guildId,
      'last-event-id': String(after),
    };
    const signal = this.#stopped.signal;
    return events.send({ method: 'GET', target: TARGET, headers, body: undefined, signal, isStream: true });
  }

  /** Reads the range of the stored events: EVENTS_GONE has it, which a position after all events gets. */
  async #range(principal: string): Promise<z.output<typeof gone>['details']> {
    const response = await this.#request(principal, Number.MAX_SAFE_INTEGER);
    return gone.parse(await json(response)).details;
  }

  /** Begins where the first viewer was, if that is not long ago; otherwise a few events ago. */
  #startAt({ oldest_seq: oldest, newest_seq: newest }: z.output<typeof gone>['details']): void {
    const given = this.#resumeAfter;
    const isRecent = given !== undefined && given <= newest && given >= Math.max(oldest - 1, newest - MAX_RESUMED);
    this.#buffer.startAfter(isRecent ? given : Math.max(oldest - 1, newest - RECENT, 0));
    if (this.#hasRead || (given !== undefined && !isRecent)) for (const viewer of this.#viewers) viewer.write(RELOAD);
  }

  async #principal(): Promise<string> {
    const { guildId, auth } = this.#options;
    let failure: unknown = new Error('there is no viewer');
    for (const { caller } of this.#viewers) {
      try {
        const { principal } = await auth.signRequest({ caller, guildId, method: 'GET', target: TARGET });
        return principal;
      } catch (error) {
        // While auth is down, the sessions of the other viewers would fail too.
        if (isServerError(asApiError(error))) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** Relays events until the service ends the stream. */
  async #read(response: IncomingMessage): Promise<void> {
    const reader = new FrameReader();
    const silence = setTimeout(() => response.destroy(new Error('the events service is silent')), SILENT_MS);
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        silence.refresh();
        for (const frame of reader.read(piece)) {
          this.#failures = 0;
          this.#hasRead = true;
          this.#retryMs = frame.retryMs;
          this.#buffer.add(frame);
          if (frame.isEvent) for (const viewer of this.#viewers) viewer.write(frame.bytes);
        }
      }
    } finally {
      clearTimeout(silence);
      response.destroy();
    }
  }
}
