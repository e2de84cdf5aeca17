import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type HeaderList, writeResponseHead } from '#kit/http/response-headers.ts';
import type { Attempt, UpstreamRequest } from './attempt.ts';
import type { Connection, Connections, ResponseHandler } from './connections.ts';

/** True for a GET without Content-Length and Transfer-Encoding. The middleware forwards all other requests. */
export function isPlainGet({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
}

/** Sends a plain GET and relays the response as it arrives. */
export function sendGet(
  connections: Connections,
  attempt: Attempt,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  try {
    const connection = connections.take();
    const exchange = new Exchange(connections, connection, attempt, response);
    attempt.started(exchange);
    connection.send(requestText(request.url ?? '', connections.host, request.headers), exchange);
  } catch (cause) {
    // For example, TLS throws immediately for a certificate that cannot be used.
    attempt.connectionFailed(cause);
  }
}

/** The request as text. No part can contain a line break, because Node's parser or this gateway produced it. */
function requestText(target: string, host: string, headers: IncomingHttpHeaders): string {
  let text = `GET ${target} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === 'string') text += `${name}: ${value}\r\n`;
    else for (const each of value ?? []) text += `${name}: ${each}\r\n`;
  }
  return `${text}connection: keep-alive\r\n\r\n`;
}

/** One GET and its response. */
class Exchange implements ResponseHandler, UpstreamRequest {
  /** Has no effect: a GET may be retried whether or not it was sent. */
  readonly wasNeverSent = false;
  readonly #connections: Connections;
  readonly #connection: Connection;
  readonly #attempt: Attempt;
  readonly #response: ServerResponse;
  /** True once the connection is no longer used by this request. */
  #isOver = false;
  /** True while the connection is paused until the client has read. */
  #isPaused = false;

  constructor(connections: Connections, connection: Connection, attempt: Attempt, response: ServerResponse) {
    this.#connections = connections;
    this.#connection = connection;
    this.#attempt = attempt;
    this.#response = response;
  }

  get hasReceivedBytes(): boolean {
    return this.#connection.hasReceivedBytes;
  }

  onHead(status: number, message: string, headers: Readonly<HeaderList>): void {
    writeResponseHead(this.#response, status, headers, message);
    this.#attempt.responseStarted();
  }

  onPiece(piece: Buffer): void {
    // Pieces that were read together still arrive after the connection is paused.
    if (this.#response.write(piece) || this.#isPaused) return;
    this.#isPaused = true;
    this.#connection.pause();
    this.#response.once('drain', () => {
      this.#isPaused = false;
      // Another request may use the connection by now.
      if (!this.#isOver) this.#connection.resume();
    });
  }

  onEnd(whole: string): void {
    this.#isOver = true;
    this.#connections.release(this.#connection);
    this.#response.end(whole, 'latin1');
    this.#attempt.responseWritten();
  }

  onFailure(cause: Error): void {
    this.#attempt.connectionFailed(cause);
    // Closes the client's connection, because a truncated response must not look complete.
    if (this.#attempt.hasResponse) this.#response.destroy();
  }

  destroy(): void {
    if (!this.#isOver) this.#connections.discard(this.#connection);
    this.#isOver = true;
  }
}
