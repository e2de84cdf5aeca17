import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hasBody } from '#kit/http/body.ts';

/** What a caller may go on sending once it has its answer: enough for bodies that were refused early. */
const MOST_BYTES = 1024 * 1024;
const MOST_MS = 2_000;
const LOOK_EVERY_MS = 100;

/**
 * Node reads the rest of a body after its answer, so that the next request of the connection can be read; without end
 * where the body has none. This ends the connection of a caller that does not come to an end.
 */
export function boundLeftover(request: IncomingMessage, response: ServerResponse): void {
  if (!hasBody(request)) return;
  response.once('finish', () => {
    if (!request.complete) endUnless(request.socket, () => request.complete);
  });
}

/**
 * Has connections closed only once their callers have read the last answer. Closed while bytes of the caller are
 * unread, a connection is reset, and the answer can be lost on the way.
 */
export function closeGently(server: Server): void {
  server.on('connection', (socket: Socket) => {
    // What Node calls after the last answer of a connection.
    socket.destroySoon = () => {
      socket.end();
      // Once both sides have ended it closes by itself.
      endUnless(socket, () => false);
    };
  });
}

/** Cuts the connection off when more came than it may, or too much time has passed, before it is over. */
function endUnless(socket: Socket, isOver: () => boolean): void {
  const [start, bytes] = [Date.now(), socket.bytesRead];
  const look = setInterval(() => {
    if (isOver() || socket.destroyed) return clearInterval(look);
    if (socket.bytesRead - bytes <= MOST_BYTES && Date.now() - start < MOST_MS) return;
    clearInterval(look);
    socket.destroy();
  }, LOOK_EVERY_MS).unref();
}
