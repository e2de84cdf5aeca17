import { type Agent, type ClientRequest, type IncomingMessage, request as startRequest } from 'node:http';
import { request as startSecureRequest } from 'node:https';
import type { Socket } from 'node:net';
import { connectingFor } from './agents.ts';
import { DeliveryError, isClosed, toDeliveryError } from './errors.ts';

/** What was received of a response. */
export interface Received {
  /** The status of the final response; null if none was received. */
  status: number | null;
  /** The first bytes of the body. */
  start: Buffer;
  /** Undefined if the response is complete, or was cut because it is too large. */
  error: DeliveryError | undefined;
  /** True if a reused connection was closed before any byte of the response, so that another one may succeed. */
  wasStale: boolean;
}

export interface ExchangeOptions {
  url: URL;
  headers: Record<string, string>;
  body: string;
  agent: Agent;
  /** Aborts the request. The reason of the signal becomes the error. */
  signal: AbortSignal;
}

const MAX_HEADER_BYTES = 16 * 1024;
/** The maximum number of bytes of the body that are read, and of interim responses (status 1xx). */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_INTERIM_BYTES = 64 * 1024;
const MAX_START_BYTES = 1024;

/**
 * Sends one POST request and reads the response. Redirects are not followed and the body is not decompressed. Never
 * rejects. The connection is closed unless the response is complete.
 */
export function exchange({ url, headers, body, agent, signal }: ExchangeOptions): Promise<Received> {
  const { promise, resolve } = Promise.withResolvers<Received>();
  const received: Received = { status: null, start: Buffer.alloc(0), error: undefined, wasStale: false };
  const start = url.protocol === 'https:' ? startSecureRequest : startRequest;
  const options = { method: 'POST', headers, agent, signal, maxHeaderSize: MAX_HEADER_BYTES };
  const request = connectingFor.run(signal, () => start(url, options));
  const end = (error?: unknown) => {
    received.wasStale = received.status === null && request.reusedSocket && !signal.aborted && isClosed(error);
    if (error !== undefined) received.error = toDeliveryError(signal.aborted ? signal.reason : error);
    if (error !== undefined || !request.writableFinished) request.destroy();
    resolve(received);
  };
  request.on('error', end);
  limitInterimResponses(request);
  request.on('upgrade', (response: IncomingMessage, socket: Socket) => {
    socket.destroy();
    received.status = response.statusCode ?? null;
    end(new DeliveryError('malformed response'));
  });
  request.on('response', (response) => {
    received.status = response.statusCode ?? null;
    readBody(response, received, end);
  });
  request.end(body);
  return promise;
}

/** Ends a request whose server sends interim responses without end; each of them alone is within the header limit. */
function limitInterimResponses(request: ClientRequest): void {
  let before = 0;
  request.on('socket', ({ bytesRead }) => {
    before = bytesRead;
  });
  request.on('information', () => {
    const bytes = (request.socket?.bytesRead ?? 0) - before;
    if (bytes > MAX_INTERIM_BYTES) request.destroy(new DeliveryError('too many headers'));
  });
}

/** Reads the body into `received` and calls `end`; a body that is too large counts as complete, but is not read on. */
function readBody(response: IncomingMessage, received: Received, end: (error?: unknown) => void): void {
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    const missing = MAX_START_BYTES - received.start.length;
    if (missing > 0) received.start = Buffer.concat([received.start, chunk.subarray(0, missing)]);
    if (size <= MAX_BODY_BYTES) return;
    end();
    response.destroy();
  });
  response.on('end', () => end());
  response.on('error', end);
}
