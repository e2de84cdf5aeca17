import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client, Dispatcher } from 'undici';
import type { Attempt, Sending } from './attempt.ts';
import type { Connections } from './connections.ts';
import { passedHeaders } from './headers.ts';

/** Sends a request without a body, and hands its answer on as it comes. */
export function sendBodiless(
  connections: Connections,
  attempt: Attempt,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const exchange = new Exchange(connections, attempt, response);
  const { method = '', url: path = '', headers } = request;
  exchange.client = connections.send({ method, path, headers }, exchange);
  attempt.begun(exchange);
}

/** What becomes of one request. */
class Exchange implements Dispatcher.DispatchHandler, Sending {
  /** What it is sent over. */
  client: Client | undefined;
  wasNeverSent = true;
  wasHeardOf = false;
  readonly #connections: Connections;
  readonly #attempt: Attempt;
  readonly #response: ServerResponse;

  constructor(connections: Connections, attempt: Attempt, response: ServerResponse) {
    this.#connections = connections;
    this.#attempt = attempt;
    this.#response = response;
  }

  onRequestStart(): void {
    this.wasNeverSent = false;
  }

  onResponseStarted(): void {
    this.wasHeardOf = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Dispatcher.ResponseData['headers'],
    message?: string,
  ): void {
    // Others follow an interim answer.
    if (status < 200) return;
    this.#attempt.answered();
    this.#response.writeHead(status, message, passedHeaders(headers));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    if (this.client) this.#connections.release(this.client);
    this.client = undefined;
    this.#response.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.destroy();
    // Cut off in its middle, it must not look whole.
    if (this.#attempt.isAnswered) this.#response.destroy();
    else this.#attempt.broke(cause);
  }

  destroy(): void {
    if (this.client) this.#connections.discard(this.client);
    this.client = undefined;
  }
}
