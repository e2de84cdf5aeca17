import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Network } from '#kit/downstream/client-address.ts';
import { NetworkSlots } from '#kit/downstream/network-slots.ts';
import { shareOf } from '#kit/downstream/slots.ts';

/** The maximum number of pipelined requests that wait behind the current request of their connection. */
export const MAX_PIPELINED = 10;

/** One pipelined request of a client connection. */
export interface PipelinedRequest {
  /** Starts the request. Called once all earlier requests of the connection have their response. */
  begin(): void;
  /** Returns the network of the client address. Called only if the request has to wait. */
  network(): Network;
}

interface QueuedRequest {
  response: ServerResponse;
  pipelined: PipelinedRequest;
  network: Network;
}
const NONE: readonly QueuedRequest[] = [];

/**
 * Handles the pipelined requests of each connection one after the other. Node emits all requests that it has received,
 * and if they ran concurrently, a ban and the unban that follows it could change their order.
 */
export class PipelineQueue {
  readonly #waiting: NetworkSlots;
  /** The waiting requests of each connection that has a request in flight. */
  readonly #queues = new WeakMap<Socket, readonly QueuedRequest[]>();

  /**
   * `maxWaiting` is the maximum number of requests that wait on all connections together. One client address may use a
   * tenth.
   */
  constructor(maxWaiting: number) {
    this.#waiting = new NetworkSlots(maxWaiting, shareOf(maxWaiting));
  }

  /** The number of pipelined requests that wait now, on all connections together. */
  get waiting(): number {
    return this.#waiting.taken;
  }

  /**
   * Begins the request once every earlier request of the connection has its response. If the connection is closed after
   * an earlier response, the request never begins. A client is disconnected if too many of its requests would wait: on
   * this connection, of its address, or of all clients.
   */
  take(request: IncomingMessage, response: ServerResponse, pipelined: PipelinedRequest): void {
    const { socket } = request;
    // Requests on a connection that is being closed are ignored.
    if (!socket.writable) return;
    const queue = this.#queues.get(socket);
    if (!queue) {
      this.#queues.set(socket, NONE);
      this.#begin(socket, response, pipelined);
      return;
    }
    const network = pipelined.network();
    if (queue.length >= MAX_PIPELINED || !this.#waiting.take(network)) return void socket.destroy();
    this.#queues.set(socket, [...queue, { response, pipelined, network }]);
  }

  #begin(socket: Socket, response: ServerResponse, pipelined: PipelinedRequest): void {
    response.on('close', () => this.#next(socket));
    pipelined.begin();
  }

  #next(socket: Socket): void {
    const queue = this.#queues.get(socket) ?? NONE;
    const [first, ...others] = queue;
    if (first && socket.writable) {
      this.#queues.set(socket, others);
      this.#waiting.release(first.network);
      this.#begin(socket, first.response, first.pipelined);
    } else {
      for (const { network } of queue) this.#waiting.release(network);
      this.#queues.delete(socket);
    }
  }
}
