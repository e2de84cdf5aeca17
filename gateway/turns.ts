import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that may wait behind the one of their connection that is being answered. */
export const MOST_WAITING = 100;

/**
 * Answers the requests of each connection one after the other. Node hands out all that a caller has sent at once, and
 * at work together a ban and its lifting could change places.
 */
export class Turns {
  /** By connection, what waits there; a connection without an entry has nothing under way. */
  readonly #waiting = new WeakMap<Socket, (() => void)[]>();

  /**
   * Calls `answer` once every earlier request of the connection is answered; never if that was said to be the last.
   * A caller that sends on and on without reading answers is cut off.
   */
  take({ socket }: IncomingMessage, response: ServerResponse, answer: () => void): void {
    // What still comes on a connection that is being closed is read and forgotten.
    if (!socket.writable) return;
    const begin = () => {
      response.once('close', () => this.#next(socket));
      answer();
    };
    const waiting = this.#waiting.get(socket);
    if (!waiting) {
      this.#waiting.set(socket, []);
      begin();
    } else if (waiting.length < MOST_WAITING) waiting.push(begin);
    else socket.destroy();
  }

  #next(socket: Socket): void {
    const begin = this.#waiting.get(socket)?.shift();
    if (begin && socket.writable) begin();
    else this.#waiting.delete(socket);
  }
}
