import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client, Dispatcher } from 'undici';
import { writeAnswerHead } from '#kit/answer-headers.ts';
import type { Attempt, Sending } from './attempt.ts';
import type { Connections } from './connections.ts';
import { passedHeaders } from './headers.ts';

/** A GET as nearly all are. One that tells a length, though there is nothing, is passed on as it is by the middleware. */
export function isPlainGet({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['content-length'] === undefined;
}

/** Sends a plain GET, and hands its answer on as it comes, at half the middleware's CPU. */
export function sendGet(
  connections: Connections,
  attempt: Attempt,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const client = connections.take();
  const exchange = new Exchange(connections, client, attempt, response);
  attempt.begun(exchange);
  connections.get(client, request.url ?? '', request.headers, exchange);
}

/** What becomes of one request. */
class Exchange implements Dispatcher.DispatchHandler, Sending {
  wasNeverSent = true;
  wasHeardOf = false;
  /** Of the body, where the answer tells it. */
  #length = Number.NaN;
  /** The body, where it came in one piece. */
  #whole: Buffer | undefined;
  readonly #connections: Connections;
  /** What it is sent over, until it is at its end. */
  #client: Client | undefined;
  readonly #attempt: Attempt;
  readonly #response: ServerResponse;

  constructor(connections: Connections, client: Client, attempt: Attempt, response: ServerResponse) {
    this.#connections = connections;
    this.#client = client;
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
    this.#length = Number(headers['content-length']);
    writeAnswerHead(this.#response, status, passedHeaders(headers), message);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (chunk.length === this.#length) {
      this.#whole = chunk;
      return;
    }
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    if (this.#client) this.#connections.release(this.#client);
    this.#client = undefined;
    // As text it leaves in one piece with the head, which takes half as long as two.
    if (this.#whole) this.#response.end(this.#whole.toString('latin1'), 'latin1');
    else this.#response.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.destroy();
    // Cut off in its middle, it must not look whole.
    if (this.#attempt.isAnswered) this.#response.destroy();
    else this.#attempt.broke(cause);
  }

  destroy(): void {
    const client = this.#client;
    this.#client = undefined;
    if (client) this.#connections.discard(client);
  }
}
