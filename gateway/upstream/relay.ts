import type { IncomingMessage, ServerResponse } from 'node:http';
import { writeResponseHead } from '#kit/http/response-headers.ts';
import { relayedHeaders } from '../downstream/headers.ts';
import { attemptOf } from './attempt.ts';

/** Hands a service's answer on: the status, the headers that are not the connection's own, and the bytes as they come. */
export function passOn(incoming: IncomingMessage, response: ServerResponse): void {
  // Its caller has gone, or was told of a fault.
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
    attempt?.written();
  });
  incoming.on('close', () => {
    if (incoming.complete) return;
    attempt?.broke(new Error('the response was cut off'));
    // A truncated response must not look complete.
    response.destroy();
  });
}
