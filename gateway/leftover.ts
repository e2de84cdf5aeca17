import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a caller may go on sending once it has its answer: enough for bodies that were refused early. */
const MOST_BYTES = 1024 * 1024;
const MOST_MS = 2_000;
const LOOK_EVERY_MS = 100;

/**
 * Node reads the rest of a body after its answer, so that the next request of the connection can be read; without end
 * where the body has none. This ends the connection of a caller that does not come to an end.
 */
export function boundLeftover(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  response.once('finish', () => {
    if (request.complete) return;
    const { socket } = request;
    const [start, bytes] = [Date.now(), socket.bytesRead];
    const look = setInterval(() => {
      if (request.complete || socket.destroyed) return clearInterval(look);
      if (socket.bytesRead - bytes <= MOST_BYTES && Date.now() - start < MOST_MS) return;
      clearInterval(look);
      socket.destroy();
    }, LOOK_EVERY_MS).unref();
  });
}
