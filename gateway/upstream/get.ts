import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type HeaderList, writeResponseHead } from '#kit/http/response-headers.ts';
import type { Attempt, Sending } from './attempt.ts';
import type { Asker, Connection, Connections } from './connections.ts';

/** A GET as nearly all are. One that tells of a body, though there is none, is passed on as it is by the middleware. */
export function isPlainGet({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
}

/** Sends a plain GET, and hands its answer on as it comes, at a fraction of the middleware's CPU. */
export function sendGet(
  connections: Connections,
  attempt: Attempt,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  try {
    const connection = connections.take();
    const exchange = new Exchange(connections, connection, attempt, response);
    attempt.begun(exchange);
    connection.send(requestText(request.url ?? '', connections.host, request.headers), exchange);
  } catch (cause) {
    // A certificate that can't be shown fails at once.
    attempt.broke(cause);
  }
}

/** What is sent: all in it has come through Node's parser, or is our own, and holds no end of a line. */
function requestText(target: string, host: string, headers: IncomingHttpHeaders): string {
  let text = `GET ${target} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === 'string') text += `${name}: ${value}\r\n`;
    else for (const each of value ?? []) text += `${name}: ${each}\r\n`;
  }
  return `${text}connection: keep-alive\r\n\r\n`;
}

/** What becomes of one request. */
class Exchange implements Asker, Sending {
  /** Nobody asks this of a GET, which may be repeated whether it was sent or not. */
  readonly wasNeverSent = false;
  readonly #connections: Connections;
  readonly #connection: Connection;
  readonly #attempt: Attempt;
  readonly #response: ServerResponse;
  /** Whether the connection is no longer this request's. */
  #isOver = false;
  /** Whether the connection waits for the caller. */
  #isHeld = false;

  constructor(connections: Connections, connection: Connection, attempt: Attempt, response: ServerResponse) {
    this.#connections = connections;
    this.#connection = connection;
    this.#attempt = attempt;
    this.#response = response;
  }

  get wasHeardOf(): boolean {
    return this.#connection.wasHeardOf;
  }

  onHead(status: number, message: string, headers: Readonly<HeaderList>): void {
    writeResponseHead(this.#response, status, headers, message);
    this.#attempt.answered();
  }

  onPiece(piece: Buffer): void {
    // Pieces that were read together still come after the first that has it wait.
    if (this.#response.write(piece) || this.#isHeld) return;
    this.#isHeld = true;
    this.#connection.pause();
    this.#response.once('drain', () => {
      this.#isHeld = false;
      // It may be another request's by now.
      if (!this.#isOver) this.#connection.resume();
    });
  }

  onEnd(whole: string): void {
    this.#isOver = true;
    this.#connections.release(this.#connection);
    // As text it leaves in one piece with the head, which takes half as long as two.
    if (whole === '') this.#response.end();
    else this.#response.end(whole, 'latin1');
    this.#attempt.written();
  }

  onFailure(cause: Error): void {
    this.#attempt.broke(cause);
    // A truncated response must not look complete.
    if (this.#attempt.isAnswered) this.#response.destroy();
  }

  destroy(): void {
    if (!this.#isOver) this.#connections.discard(this.#connection);
    this.#isOver = true;
  }
}
