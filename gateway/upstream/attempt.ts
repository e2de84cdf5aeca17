import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { ClientDisconnected } from '#kit/downstream/client-disconnected.ts';
import { ApiError } from '#kit/errors.ts';

/** Methods of requests that change nothing and have no body. */
const SAFE_METHODS = ['GET', 'HEAD'];

/** If a client waits longer than this for a response to its whole request, and disconnects, the service may have failed. */
const GIVE_UP_MS = 1_000;

/** Thrown if the client disconnected after it had waited for the response so long that the service may have failed. */
export class ClientGaveUp extends Error {}

/** A request that is being sent to a service, and its connection. */
export interface UpstreamRequest {
  /** True if the service cannot have received any part of the request. */
  readonly wasNeverSent: boolean;
  /** True if a part of a response was received. */
  readonly hasReceivedBytes: boolean;
  /** Closes the connection, unless the response is complete. */
  destroy(): void;
}

/** One attempt to send a request to a service: its timeout and its outcome. A retry is another attempt. */
export class Attempt {
  /** The reason why there is no response. */
  failure: Error | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  /** The start of the attempt, of performance.now(). */
  readonly #startedAt = performance.now();
  readonly #deadline: NodeJS.Timeout;
  readonly #settled = Promise.withResolvers<void>();
  #upstream: UpstreamRequest | undefined;
  #hasEnded = false;
  #hasResponse = false;

  constructor(request: IncomingMessage, response: ServerResponse, timeoutMs: number) {
    this.#request = request;
    this.#response = response;
    this.#deadline = setTimeout(() => this.#expire(), timeoutMs);
    response.on('close', () => this.#responseClosed());
  }

  /**
   * Resolves once the response is written to the client's socket, whether or not the client reads it. Rejects with
   * ClientDisconnected or ClientGaveUp if the client disconnected before the response began.
   */
  get ended(): Promise<void> {
    return this.#settled.promise;
  }

  /** The request has a connection, or one that is being opened. */
  started(upstream: UpstreamRequest): void {
    this.#upstream = upstream;
  }

  #expire(): void {
    if (!this.#hasResponse || !this.#response.writableNeedDrain) return this.fail(new ApiError('TIMEOUT'));
    // The service has responded, but the client does not read.
    this.#end(new ClientDisconnected());
    this.#response.destroy();
  }

  /** The service has sent the head of its response. */
  responseStarted(): void {
    this.#hasResponse = true;
  }

  /**
   * The service has begun a stream, which may last for any time: `ended` resolves now. The connection to the service is
   * closed with the response.
   */
  streamStarted(): void {
    clearTimeout(this.#deadline);
    this.#settled.resolve();
  }

  get hasResponse(): boolean {
    return this.#hasResponse;
  }

  /**
   * The whole response is written to the client's socket. How long the client takes to read it is limited by the write
   * timeout of its connection, and never counts as a failure of the service.
   */
  responseWritten(): void {
    this.#end(undefined);
  }

  /** The connection to the service failed, which is no failure of the service if the client's connection failed first. */
  connectionFailed(cause: unknown): void {
    if (this.#request.socket.destroyed) this.#responseClosed();
    else this.fail(new ApiError('UNAVAILABLE', { cause }));
  }

  /** The response was written, or the client disconnected. */
  #responseClosed(): void {
    if (this.#hasResponse) return this.#end(undefined);
    const hasGivenUp = performance.now() - this.#startedAt > GIVE_UP_MS;
    this.#end(hasGivenUp ? new ClientGaveUp() : new ClientDisconnected());
  }

  /** Ends the attempt without a response. Only the first error counts. */
  fail(error: Error): void {
    this.failure ??= error;
    this.#end(this.failure);
  }

  /** Settles the attempt with its first outcome; later outcomes are ignored. */
  #end(error: Error | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#deadline);
    if (error) this.#settled.reject(error);
    else this.#settled.resolve();
    this.#upstream?.destroy();
  }

  /** True if the service cannot have received any part of the request. */
  get wasNeverSent(): boolean {
    return this.#upstream?.wasNeverSent ?? true;
  }

  /** True if a part of a response was received. */
  get hasReceivedBytes(): boolean {
    return this.#upstream?.hasReceivedBytes ?? false;
  }
}

/**
 * True if the request may be sent again after this attempt: it changes nothing, or the service cannot have received any
 * part of it. No part of a response may have been received.
 */
export function canRetry(attempt: Attempt | undefined, request: IncomingMessage, response: ServerResponse): boolean {
  if (!(attempt?.failure instanceof ApiError) || attempt.failure.code !== 'UNAVAILABLE') return false;
  if (attempt.hasReceivedBytes) return false;
  if (response.headersSent || response.destroyed) return false;
  if (SAFE_METHODS.includes(request.method ?? '')) return true;
  return attempt.wasNeverSent;
}
