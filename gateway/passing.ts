import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Stream } from 'node:stream';
import { HOP_BY_HOP } from './headers.ts';

/** Stands for the body of a request that has none: there is nothing to wait for, and no need to listen for it. */
export const NO_BODY = { pipe: (outgoing: ClientRequest) => outgoing.end() } as unknown as Stream;

/** Hands a service's answer on: the status, the headers that are not the connection's own, and the bytes as they come. */
export function passOn(incoming: IncomingMessage, response: ServerResponse): void {
  // Its caller has gone, or was told of a fault.
  if (response.headersSent || response.destroyed) return void incoming.resume();
  const headers: OutgoingHttpHeaders = {};
  for (const name in incoming.headers) {
    if (!HOP_BY_HOP.has(name) && name !== 'transfer-encoding') headers[name] = incoming.headers[name];
  }
  response.writeHead(incoming.statusCode as number, incoming.statusMessage, headers);
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
