import type { ServerResponse } from 'node:http';
import type { HeaderList } from './response-headers.ts';

/** The headers of a response that is a stream of server-sent events. `x-accel-buffering` keeps proxies from buffering it. */
export const EVENT_STREAM_HEADERS: Readonly<HeaderList> = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-store'],
  ['x-content-type-options', 'nosniff'],
  ['x-accel-buffering', 'no'],
].flat();

/** Every field, event and comment of a stream ends with an empty line. */
export const FRAME_END = '\n\n';

/** How often a stream without events sends a comment, in milliseconds. */
export const COMMENT_EVERY_MS = 15_000;

/** The field that makes clients connect again after `milliseconds`. */
export const retryFrame = (milliseconds: number) => `retry: ${Math.round(milliseconds)}${FRAME_END}`;

const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 2_500;

/** The last frame of a stream whose client is to connect again soon; the delay is random, so that clients spread. */
export const retrySoon = () => retryFrame(MIN_RETRY_MS + Math.random() * (MAX_RETRY_MS - MIN_RETRY_MS));

/** The result of a handler whose response is a stream of events. `begin` is called after the response head is written. */
export class StreamResponse {
  readonly begin: (response: ServerResponse) => void;

  constructor(begin: (response: ServerResponse) => void) {
    this.begin = begin;
  }
}
