import type { ServerResponse } from 'node:http';
import type { HttpHandlers } from '#kit/http/app.ts';
import { FRAME_END, retryFrame, retrySoon, StreamResponse } from '#kit/http/event-stream.ts';
import type { eventStreamRoutes } from '#proto/rest/events.ts';
import type { StreamEnd, StreamSink } from '../domain/event-stream.ts';
import type { LogEvent } from '../domain/log-event.ts';
import type { Streams } from '../domain/streams.ts';
import { visibleTypes } from '../domain/visible-types.ts';
import { eventView, mayReadPersons } from './views.ts';

/**
 * When a client whose stream lost its place connects again. The time is long: its new stream takes the place of another
 * one, so that clients of a guild with too many would replace each other all the time.
 */
const REPLACED_RETRY_MS = 60_000;
/** How long an ended stream may wait for its reader. */
const FLUSH_MS = 5_000;

/** Returns the handler of the stream of events. */
export function streamHandlers(streams: Streams): HttpHandlers<typeof eventStreamRoutes> {
  return {
    async streamEvents({ guildId, principal, query, lastEventId }) {
      const types = visibleTypes(principal.scopes, query.types);
      const request = { guildId, types, after: lastEventId ?? query.after ?? null };
      const first = await streams.first(request);
      const showsPersons = mayReadPersons(principal.scopes);
      return new StreamResponse((response) => {
        const stream = streams.open(request, first, new ResponseSink(response, showsPersons));
        response.on('drain', () => stream.resume());
        response.once('close', () => stream.end('client'));
        // The events of `close` and `drain` are emitted later, but the client may have gone before.
        if (response.destroyed) stream.end('client');
      });
    },
  };
}

/** Writes a stream as server-sent events. */
class ResponseSink implements StreamSink {
  readonly #response: ServerResponse;
  readonly #showsPersons: boolean;

  constructor(response: ServerResponse, showsPersons: boolean) {
    this.#response = response;
    this.#showsPersons = showsPersons;
  }

  write(events: readonly LogEvent[]): boolean {
    return this.#response.write(events.map((event) => this.#frame(event)).join(''));
  }

  comment(examinedSeq: number | undefined): void {
    this.#response.write(examinedSeq === undefined ? `:${FRAME_END}` : `:\nid: ${examinedSeq}${FRAME_END}`);
  }

  end(end: StreamEnd): void {
    const response = this.#response;
    if (end === 'client') return;
    response.end(end === 'replaced' ? retryFrame(REPLACED_RETRY_MS * (1 + Math.random() / 2)) : retrySoon());
    setTimeout(() => {
      if (!response.writableFinished) response.destroy();
    }, FLUSH_MS).unref();
  }

  /** JSON has no line breaks, so the data is one line. */
  #frame(event: LogEvent): string {
    const data = JSON.stringify(eventView(event, this.#showsPersons));
    return `id: ${event.seq}\nevent: ${event.type}\ndata: ${data}${FRAME_END}`;
  }
}
