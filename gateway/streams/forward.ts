import type { IncomingMessage } from 'node:http';
import { ApiError } from '#kit/errors.ts';
import { EVENT_STREAM_HEADERS, retrySoon } from '#kit/http/event-stream.ts';
import { writeResponseHead } from '#kit/http/response-headers.ts';
import type { Proxy } from '../upstream/proxy.ts';
import { StreamEnded } from './event-relay.ts';
import type { OpenOptions, Streams } from './streams.ts';

export interface ForwardStreamOptions extends OpenOptions {
  streams: Streams;
  proxy: Proxy;
  service: string;
  request: IncomingMessage;
}

/**
 * Forwards a request for a stream of events. Resolves with true once the stream has begun, and with false once another
 * response is written or the client has disconnected. Throws UNAVAILABLE and TIMEOUT like other requests.
 */
export async function forwardStream(options: ForwardStreamOptions): Promise<boolean> {
  const { streams, proxy, service, request, response } = options;
  const relay = streams.open(options);
  try {
    await proxy.openStream({ request, response, body: undefined, relay }, service);
  } catch (error) {
    if (!(error instanceof StreamEnded)) throw error;
    // The next request with a key that has just changed gets the right error.
    if (error.end !== 'drain') throw new ApiError('UNAVAILABLE', { cause: error, retryAfter: 1 });
    // Clients do not connect again after an error.
    writeResponseHead(response, 200, EVENT_STREAM_HEADERS);
    response.end(retrySoon());
  } finally {
    if (!relay.isOpen) relay.end('client');
  }
  return relay.isOpen;
}
