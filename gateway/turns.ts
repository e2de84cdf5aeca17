import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that may wait behind the one of their connection that is being answered. */
export const MOST_WAITING = 10;

/** A request that is answered once those before it on its connection are. */
export interface Turn {
  begin(): void;
  /** It has begun, and its answer is written or nobody is there to read one. */
  over(): void;
}

const QUEUE = Symbol('queue');
interface Waiting {
  response: ServerResponse;
  turn: Turn;
}
/** What waits on it; without a queue it has nothing under way. */
type Connection = Socket & { [QUEUE]?: readonly Waiting[] | undefined };
const NONE: readonly Waiting[] = [];

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
   * Begins a turn once every earlier request of the connection is answered; never if that was said to be the last.
   * A caller that sends on and on without reading answers is cut off, and so is any that would wait when too many do.
   */
  take(request: IncomingMessage, response: ServerResponse, turn: Turn): void {
    const socket: Connection = request.socket;
    // What still comes on a connection that is being closed is read and forgotten.
    if (!socket.writable) return;
    const queue = socket[QUEUE];
    if (!queue) {
      socket[QUEUE] = NONE;
      this.#begin(socket, response, turn);
    } else if (queue.length < MOST_WAITING && this.#inAll < this.#mostInAll) {
      socket[QUEUE] = [...queue, { response, turn }];
      this.#inAll++;
    } else socket.destroy();
  }

  #begin(socket: Connection, response: ServerResponse, turn: Turn): void {
    response.on('close', () => {
      turn.over();
      this.#next(socket);
    });
    turn.begin();
  }

  #next(socket: Connection): void {
    const queue = socket[QUEUE] ?? NONE;
    const [first, ...others] = queue;
    if (first && socket.writable) {
      socket[QUEUE] = others;
      this.#inAll--;
      this.#begin(socket, first.response, first.turn);
    } else {
      this.#inAll -= queue.length;
      socket[QUEUE] = undefined;
    }
  }
}
