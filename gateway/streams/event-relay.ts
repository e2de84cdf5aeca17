import type { ServerResponse } from 'node:http';
import { COMMENT_EVERY_MS, FRAME_END, retrySoon } from '#kit/http/event-stream.ts';

/**
 * Why a stream of events ended: the service ended it (`service`), the connection to the service was lost or silent
 * (`lost`), this gateway drains (`drain`), the client disconnected (`client`), its API key is no longer valid (`key`)
 * or lost a scope or the address (`permission`), or the key could not be verified (`unverified`).
 */
export const STREAM_ENDS = ['service', 'lost', 'drain', 'client', 'key', 'permission', 'unverified'] as const;
export type StreamEnd = (typeof STREAM_ENDS)[number];

/** The ends after which the client is told to connect again. A stream that the service ends has told it already. */
const WITH_RETRY: readonly StreamEnd[] = ['lost', 'drain', 'unverified'];

/** Thrown if a stream was ended before the service had begun it. */
export class StreamEnded extends Error {
  readonly end: StreamEnd;

  constructor(end: StreamEnd) {
    super(`the stream was ended: ${end}`);
    this.name = 'StreamEnded';
    this.end = end;
  }
}

/** A service that sends nothing for this long is lost: two comments and some more are missing. */
const SILENT_MS = 2.5 * COMMENT_EVERY_MS;
/** The maximum size of an event in bytes; an event has at most 20 KB. */
const MAX_FRAME_BYTES = 64 * 1024;
/** How long the rest of an ended stream may wait for a client that does not read. */
const FLUSH_MS = 1_000;

const NONE = Buffer.alloc(0);

export interface EventRelayOptions {
  response: ServerResponse;
  /** Called once when the stream ends, also if it ends before the first byte was sent. */
  ended: (end: StreamEnd) => void;
  silentMs?: number;
}

/**
 * Relays a stream of server-sent events from a service to a client. Only whole events are relayed, so that the stream
 * can be ended at any time. At most one incomplete event is held in memory; a client that reads slowly slows the
 * service.
 */
export class EventRelay {
  readonly #response: ServerResponse;
  readonly #ended: (end: StreamEnd) => void;
  readonly #silentMs: number;
  /** Closes the connection to the service, or aborts the attempt to open the stream. */
  #abort: ((error: Error) => void) | undefined;
  /** The received part of an incomplete event. */
  #partial: Buffer = NONE;
  #silence: NodeJS.Timeout | undefined;
  #end: StreamEnd | undefined;
  #hasBegun = false;

  constructor({ response, ended, silentMs = SILENT_MS }: EventRelayOptions) {
    this.#response = response;
    this.#ended = ended;
    this.#silentMs = silentMs;
    response.once('close', () => this.end('client'));
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** True if the service has begun the stream and it has not ended. */
  get isOpen(): boolean {
    return this.#hasBegun && this.#end === undefined;
  }

  /** Called before each attempt to open the stream. Throws StreamEnded if it was ended. */
  opening(abort: (error: Error) => void): void {
    if (this.#end !== undefined) throw new StreamEnded(this.#end);
    this.#abort = abort;
  }

  /** Called when the service has responded with a stream, and the response head is written. */
  begin(closeUpstream: () => void): void {
    this.#hasBegun = true;
    this.#abort = closeUpstream;
    this.#response.flushHeaders();
    this.#silence = setTimeout(() => this.#checkSilence(), this.#silentMs).unref();
  }

  /** Relays bytes of the stream. Returns false if the client must read before the service may send more. */
  write(piece: Buffer): boolean {
    if (this.#end !== undefined) return true;
    this.#silence?.refresh();
    const bytes = this.#partial.length > 0 ? Buffer.concat([this.#partial, piece]) : piece;
    const end = bytes.lastIndexOf(FRAME_END) + FRAME_END.length;
    const whole = end >= FRAME_END.length ? end : 0;
    // The rest is copied, because it would keep the whole buffer of the socket in memory.
    this.#partial = whole < bytes.length ? Buffer.from(bytes.subarray(whole)) : NONE;
    if (this.#partial.length > MAX_FRAME_BYTES) {
      this.end('lost');
      return true;
    }
    if (whole > 0) this.#response.write(bytes.subarray(0, whole));
    return !this.#response.writableNeedDrain;
  }

  /** Ends the stream after the last whole event. Only the first end counts. */
  end(end: StreamEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    clearTimeout(this.#silence);
    this.#partial = NONE;
    if (this.#hasBegun && end !== 'client') this.#finish(end);
    const abort = this.#abort;
    this.#abort = undefined;
    this.#ended(end);
    abort?.(new StreamEnded(end));
  }

  #finish(end: StreamEnd): void {
    const response = this.#response;
    response.end(WITH_RETRY.includes(end) ? retrySoon() : '');
    if (!response.writableNeedDrain) return;
    setTimeout(() => {
      if (!response.writableFinished) response.destroy();
    }, FLUSH_MS).unref();
  }

  #checkSilence(): void {
    // While the client does not read, nothing is read from the service either.
    if (this.#response.writableNeedDrain) this.#silence?.refresh();
    else this.end('lost');
  }
}
