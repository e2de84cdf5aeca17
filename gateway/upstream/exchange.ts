import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type HeaderList, writeResponseHead } from '#kit/http/response-headers.ts';
import type { EventRelay } from '../streams/event-relay.ts';
import type { Attempt, UpstreamRequest } from './attempt.ts';
import type { Connection, Connections, ResponseHandler } from './connections.ts';

/** Methods whose requests never have a body. */
const BODILESS = ['GET', 'HEAD'];
/** Headers about the length of the body. They are replaced by the Content-Length of the body that was received. */
const FRAMING = ['content-length', 'transfer-encoding'];

/** A client's request whose body was received. */
export interface ReceivedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  body: Buffer | undefined;
  /** Relays the response if it is a stream of events. */
  relay?: EventRelay;
}

/** Sends a request with its whole body and relays the response as it arrives. */
export function sendRequest(connections: Connections, attempt: Attempt, received: ReceivedRequest): void {
  try {
    const connection = connections.take();
    const exchange = new Exchange(connections, connection, attempt, received);
    attempt.started(exchange);
    connection.send(requestText(received, connections.host), exchange, received.request.method === 'HEAD');
  } catch (cause) {
    // For example, TLS throws immediately for a certificate that cannot be used.
    attempt.connectionFailed(cause);
  }
}

/**
 * The request as Latin-1 text, which is written to the socket in one piece. No part of the head can contain a line break,
 * because Node's parser or this gateway produced it.
 */
function requestText({ request: { method = 'GET', url = '', headers }, body }: ReceivedRequest, host: string): string {
  const head = `${method} ${url} HTTP/1.1\r\nhost: ${host}\r\n${headerLines(headers)}connection: keep-alive\r\n`;
  if (BODILESS.includes(method)) return `${head}\r\n`;
  return `${head}content-length: ${body?.length ?? 0}\r\n\r\n${body?.toString('latin1') ?? ''}`;
}

function headerLines(headers: IncomingHttpHeaders): string {
  let lines = '';
  for (const name in headers) {
    const value = headers[name];
    if (FRAMING.includes(name)) continue;
    if (typeof value === 'string') lines += `${name}: ${value}\r\n`;
    else for (const each of value ?? []) lines += `${name}: ${each}\r\n`;
  }
  return lines;
}

/** One request and its response. */
class Exchange implements ResponseHandler, UpstreamRequest {
  readonly #connections: Connections;
  readonly #connection: Connection;
  readonly #attempt: Attempt;
  readonly #response: ServerResponse;
  /** Relays the stream once it has begun; undefined for other responses. */
  #stream: EventRelay | undefined;
  readonly #relay: EventRelay | undefined;
  /** True once the connection is no longer used by this request. */
  #isOver = false;
  /** True while the connection is paused until the client has read. */
  #isPaused = false;

  constructor(
    connections: Connections,
    connection: Connection,
    attempt: Attempt,
    { response, relay }: ReceivedRequest,
  ) {
    this.#connections = connections;
    this.#connection = connection;
    this.#attempt = attempt;
    this.#response = response;
    this.#relay = relay;
  }

  get wasNeverSent(): boolean {
    return !this.#connection.wasOpened;
  }

  get hasReceivedBytes(): boolean {
    return this.#connection.hasReceivedBytes;
  }

  onHead(status: number, message: string, headers: Readonly<HeaderList>): void {
    writeResponseHead(this.#response, status, headers, message);
    this.#attempt.responseStarted();
    if (!this.#relay || !isEventStream(status, headers)) return;
    this.#stream = this.#relay;
    this.#stream.begin(() => this.destroy());
    this.#attempt.streamStarted();
  }

  onPiece(piece: Buffer): void {
    // Pieces that were read together still arrive after the connection is paused.
    const mayContinue = this.#stream ? this.#stream.write(piece) : this.#response.write(piece);
    if (mayContinue || this.#isPaused) return;
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
    if (this.#stream) this.#stream.end('service');
    else this.#response.end(whole, 'latin1');
    this.#attempt.responseWritten();
  }

  onFailure(cause: Error): void {
    this.#attempt.connectionFailed(cause);
    if (this.#stream) return this.#stream.end('lost');
    // Closes the client's connection, because a truncated response must not look complete.
    if (this.#attempt.hasResponse) this.#response.destroy();
  }

  destroy(): void {
    if (!this.#isOver) this.#connections.discard(this.#connection);
    this.#isOver = true;
  }
}

/** True if a response is a stream of server-sent events. All others are ordinary responses, such as errors. */
function isEventStream(status: number, headers: Readonly<HeaderList>): boolean {
  const type = headers[headers.indexOf('content-type') + 1];
  return status === 200 && typeof type === 'string' && type.startsWith('text/event-stream');
}
