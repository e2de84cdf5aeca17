import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that may wait behind the one of their connection that is being answered. */
export const MOST_WAITING = 10;

const QUEUE = Symbol('queue');
/** What waits on it; without one it has nothing under way. */
type Connection = Socket & { [QUEUE]?: (() => void)[] | undefined };

/**
 * Answers the requests of each connection one after the other. Node hands out all that a caller has sent at once, and
 * at work together a ban and its lifting could change places.
 */
export class Turns {
  readonly #mostInAll: number;
  #inAll = 0;

  /** `mostInAll`: requests that may wait on all connections together. */
  constructor(mostInAll: number) {
    this.#mostInAll = mostInAll;
  }

  /** Requests that wait now, on all connections together. */
  get waiting(): number {
    return this.#inAll;
  }

  /**
   * Calls `answer` once every earlier request of the connection is answered; never if that was said to be the last.
   * A caller that sends on and on without reading answers is cut off, and so is any that would wait when too many do.
   */
  take(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const socket: Connection = request.socket;
    // What still comes on a connection that is being closed is read and forgotten.
    if (!socket.writable) return;
    const begin = () => {
      response.once('close', () => this.#next(socket));
      answer();
    };
    const queue = socket[QUEUE];
    if (!queue) {
      socket[QUEUE] = [];
      begin();
    } else if (queue.length < MOST_WAITING && this.#inAll < this.#mostInAll) {
      queue.push(begin);
      this.#inAll++;
    } else socket.destroy();
  }

  #next(socket: Connection): void {
    const queue = socket[QUEUE] ?? [];
    const begin = socket.writable ? queue.shift() : undefined;
    if (begin) {
      this.#inAll--;
      begin();
    } else {
      this.#inAll -= queue.length;
      socket[QUEUE] = undefined;
    }
  }
}
