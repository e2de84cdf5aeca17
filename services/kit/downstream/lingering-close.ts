import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hasBody } from '../http/body.ts';

/**
 * The maximum number of bytes that a client may send after its response, enough for most bodies that were rejected
 * early.
 */
const MAX_BYTES = 1024 * 1024;
const MAX_MS = 2_000;
const CHECK_INTERVAL_MS = 100;

/**
 * Limits how much of a request's body is read after the response. Node reads the rest of a body, however long it is, to
 * reach the next request of the connection. A client that sends too much or takes too long is disconnected.
 */
export function limitUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  if (!hasBody(request)) return;
  response.once('finish', () => {
    if (!request.complete) destroyUnless(request.socket, () => request.complete);
  });
}

/**
 * Closes connections so that clients can still read the last response (lingering close). If a connection is closed
 * while received bytes are unread, the operating system resets it, and the response may be lost.
 */
export function enableLingeringClose(server: Server): void {
  server.on('connection', (socket: Socket) => {
    // Node calls the public method `destroySoon` after the last response of a connection.
    socket.destroySoon = () => {
      socket.end();
      // A socket closes by itself once client and gateway have both ended their side.
      destroyUnless(socket, () => false);
    };
  });
}

/** Destroys the socket if the client sends too many bytes or takes too long before `isOver` returns true. */
function destroyUnless(socket: Socket, isOver: () => boolean): void {
  const [start, bytes] = [Date.now(), socket.bytesRead];
  const timer = setInterval(() => {
    if (isOver() || socket.destroyed) return clearInterval(timer);
    if (socket.bytesRead - bytes <= MAX_BYTES && Date.now() - start < MAX_MS) return;
    clearInterval(timer);
    socket.destroy();
  }, CHECK_INTERVAL_MS).unref();
}
