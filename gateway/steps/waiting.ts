import type { IncomingMessage, ServerResponse } from 'node:http';
import { readQuery } from '#kit/http/validate.ts';
import type { Route } from '#proto/rest/route.ts';

/** Returns the milliseconds that a long poll asks to wait; 0 for a value that the service will reject. */
export function waitMsOf({ longPoll, query: schema }: Route, query: string): number {
  if (!longPoll || query === '') return 0;
  const wait = schema?.shape['wait']?.safeParse(readQuery(query).value['wait']).data;
  return typeof wait === 'number' ? wait * 1000 : 0;
}

/** True if the request opens a stream of events. A HEAD request only gets the headers of the response. */
export function isStream({ eventStream }: Route, { method }: IncomingMessage): boolean {
  return eventStream !== undefined && method === 'GET';
}

/**
 * Closes a poll's connection when the client ends its sending side. Other clients that do so still get their response,
 * but a client that ends its side while it waits for commands has most likely gone.
 */
export function closeWithClient({ socket }: IncomingMessage, response: ServerResponse): void {
  const close = () => void socket.destroy();
  if (socket.readableEnded) return close();
  socket.once('end', close);
  // The listener is removed with the response, so that later requests of the connection are served normally.
  response.once('close', () => socket.off('end', close));
}
