import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Network } from './client-address.ts';
import { SharedSlots, shareOf } from './slots.ts';

/** Requests that may wait behind the one of their connection that is being answered. */
export const MOST_WAITING = 10;

/** A request that is answered once those before it on its connection are. */
export interface Turn {
  begin(): void;
  /** The client address among those that wait. Found only for a request that has to wait. */
  network(): Network;
}

const QUEUE = Symbol('queue');
interface Waiting {
  response: ServerResponse;
  turn: Turn;
  network: Network;
}
/** What waits on it; without a queue it has nothing under way. */
type Connection = Socket & { [QUEUE]?: readonly Waiting[] | undefined };
const NONE: readonly Waiting[] = [];

/**
 * Answers the requests of each connection one after the other. Node hands out all that a caller has sent at once, and
 * at work together a ban and its lifting could change places.
 */
export class Turns {
  readonly #waiting: SharedSlots<Network>;

  /** `mostInAll`: requests that may wait on all connections together; those of one client address are a tenth. */
  constructor(mostInAll: number) {
    this.#waiting = new SharedSlots(mostInAll, shareOf(mostInAll));
  }

  /** Requests that wait now, on all connections together. */
  get waiting(): number {
    return this.#waiting.taken;
  }

  /**
   * Begins a turn once every earlier request of the connection is answered; never if that was said to be the last.
   * A client that sends on and on without reading responses is disconnected, and so is one that would wait when too many
   * requests do, of all clients or of its address.
   */
  take(request: IncomingMessage, response: ServerResponse, turn: Turn): void {
    const socket: Connection = request.socket;
    // What still comes on a connection that is being closed is read and forgotten.
    if (!socket.writable) return;
    const queue = socket[QUEUE];
    if (!queue) {
      socket[QUEUE] = NONE;
      this.#begin(socket, response, turn);
      return;
    }
    const network = turn.network();
    if (queue.length >= MOST_WAITING || !this.#waiting.take(network)) return void socket.destroy();
    socket[QUEUE] = [...queue, { response, turn, network }];
  }

  #begin(socket: Connection, response: ServerResponse, turn: Turn): void {
    response.on('close', () => this.#next(socket));
    turn.begin();
  }

  #next(socket: Connection): void {
    const queue = socket[QUEUE] ?? NONE;
    const [first, ...others] = queue;
    if (first && socket.writable) {
      socket[QUEUE] = others;
      this.#waiting.release(first.network);
      this.#begin(socket, first.response, first.turn);
    } else {
      for (const { network } of queue) this.#waiting.release(network);
      socket[QUEUE] = undefined;
    }
  }
}
