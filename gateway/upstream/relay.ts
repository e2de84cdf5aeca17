import type { IncomingMessage, ServerResponse } from 'node:http';
import { writeResponseHead } from '#kit/http/response-headers.ts';
import { relayedHeaders } from '../downstream/headers.ts';
import { attemptOf } from './attempt.ts';

/** Relays a service's response to the client: status, end-to-end headers, and the body as it arrives. */
export function relayResponse(incoming: IncomingMessage, response: ServerResponse): void {
  // The client has disconnected, or got an error response.
  if (response.headersSent || response.destroyed) return void incoming.resume();
  writeResponseHead(response, incoming.statusCode as number, relayedHeaders(incoming.headers), incoming.statusMessage);
  incoming.on('data', (chunk: Buffer) => {
    if (response.write(chunk)) return;
    incoming.pause();
    response.once('drain', () => incoming.resume());
  });
  const attempt = attemptOf(response.req);
  incoming.on('end', () => {
    response.end();
    attempt?.responseWritten();
  });
  incoming.on('close', () => {
    if (incoming.complete) return;
    attempt?.connectionFailed(new Error('the response was cut off'));
    // Closes the client's connection, because a truncated response must not look complete.
    response.destroy();
  });
}
