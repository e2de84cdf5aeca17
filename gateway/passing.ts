import type { IncomingMessage, ServerResponse } from 'node:http';
import { passedHeaders } from './headers.ts';

/** Hands a service's answer on: the status, the headers that are not the connection's own, and the bytes as they come. */
export function passOn(incoming: IncomingMessage, response: ServerResponse): void {
  // Its caller has gone, or was told of a fault.
  if (response.headersSent || response.destroyed) return void incoming.resume();
  response.writeHead(incoming.statusCode as number, incoming.statusMessage, passedHeaders(incoming.headers));
  incoming.on('data', (chunk: Buffer) => {
    if (response.write(chunk)) return;
    incoming.pause();
    response.once('drain', () => incoming.resume());
  });
  incoming.on('end', () => response.end());
  // Cut off in its middle, it must not look whole.
  incoming.on('close', () => {
    if (!incoming.complete) response.destroy();
  });
}
