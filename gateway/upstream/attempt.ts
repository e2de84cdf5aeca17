import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { ApiError } from '#kit/errors.ts';
import { hasBody } from '#kit/http/body.ts';
import { InconclusiveError } from '#kit/resilience/breaker.ts';

/** Methods whose requests change nothing; they have no body here. */
const READING = ['GET', 'HEAD'];

/** A caller who waits longer than this for a service that has its whole request, and goes, has waited in vain. */
const IN_VAIN_MS = 1_000;

/** Thrown for a caller who has gone before the service began to answer, or does not read what it answers. */
export class CallerGone extends InconclusiveError {}

/** The same, after so long that it tells of the service. */
export class WaitedInVain extends Error {}

/** What a request is sent over. */
export interface Sending {
  /** Whether the service can't have seen any of the request. */
  readonly wasNeverSent: boolean;
  /** Whether a part of an answer has come. */
  readonly wasHeardOf: boolean;
  /** Breaks it off where it is not at its end. */
  destroy(): void;
}

/** A request on its way to a service, once. */
export class Attempt {
  /** Why nothing was answered. */
  failure: Error | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #timeoutMs: number;
  readonly #settled = Promise.withResolvers<void>();
  #sending: Sending | undefined;
  #deadline: NodeJS.Timeout | undefined;
  /** By performance.now(), when the caller last sent anything. */
  #heardAt = 0;
  #isOver = false;
  #isAnswered = false;

  constructor(request: IncomingMessage, response: ServerResponse, timeoutMs: number) {
    this.#request = request;
    this.#response = response;
    this.#timeoutMs = timeoutMs;
    this.heard();
    response.on('close', () => this.#over());
  }

  /**
   * Resolves once the response is written to the client's socket, whether the client reads it or not; CallerGone or
   * WaitedInVain when nothing was answered before its caller left.
   */
  get ended(): Promise<void> {
    return this.#settled.promise;
  }

  /** It has a connection, or one that is being made. */
  begun(sending: Sending): void {
    this.#sending = sending;
  }

  /**
   * The caller has sent more. No service is slow because its caller is: the time runs from the caller's last byte, and
   * is the caller's own while there are more to come.
   */
  heard(): void {
    if (this.#isOver) return;
    clearTimeout(this.#deadline);
    this.#heardAt = performance.now();
    this.#deadline = setTimeout(() => this.#expire(), this.#timeoutMs);
  }

  #expire(): void {
    if (!this.#isAnswered || !this.#response.writableNeedDrain) {
      return this.fail(new ApiError(this.#request.complete ? 'TIMEOUT' : 'REQUEST_TIMEOUT'));
    }
    // The service has done its part: it is the caller that does not read.
    this.#end(new CallerGone());
    this.#response.destroy();
  }

  /** The service has begun to answer. */
  answered(): void {
    this.#isAnswered = true;
  }

  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /**
   * The whole response is written to the client's socket: the service has done its part. How long the client takes to
   * read it is bounded by the write timeout of its connection, and never counts against the service.
   */
  written(): void {
    this.#end(undefined);
  }

  /**
   * One of the two connections broke. A caller that has gone breaks its request off: no service has failed by that.
   */
  broke(cause: unknown): void {
    if (this.#request.socket.destroyed) this.#over();
    else this.fail(new ApiError('UNAVAILABLE', { cause }));
  }

  /** The answer is written, or nobody is there to read one. */
  #over(): void {
    if (this.#isAnswered) return this.#end(undefined);
    const isInVain = this.#request.complete && performance.now() - this.#heardAt > IN_VAIN_MS;
    this.#end(isInVain ? new WaitedInVain() : new CallerGone());
  }

  /** Ends it without an answer; only the first reason counts. */
  fail(error: Error): void {
    this.failure ??= error;
    this.#end(this.failure);
  }

  /** Only the first of its outcomes counts. */
  #end(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    if (error) this.#settled.reject(error);
    else this.#settled.resolve();
    this.#sending?.destroy();
  }

  /** Whether the service can't have seen any of it. */
  get wasNeverSent(): boolean {
    return this.#sending?.wasNeverSent ?? true;
  }

  /** Whether a part of an answer has come. */
  get wasHeardOf(): boolean {
    return this.#sending?.wasHeardOf ?? false;
  }
}

/** Whether the request may be passed on again: it changes nothing, or has no body and no service has seen it. */
export function mayRepeat(attempt: Attempt | undefined, request: IncomingMessage, response: ServerResponse): boolean {
  if (!(attempt?.failure instanceof ApiError) || attempt.failure.code !== 'UNAVAILABLE') return false;
  if (attempt.wasHeardOf) return false;
  if (response.headersSent || response.destroyed) return false;
  if (READING.includes(request.method ?? '')) return true;
  return attempt.wasNeverSent && !hasBody(request);
}

const ATTEMPT = Symbol('attempt');

interface Attempted {
  [ATTEMPT]?: Attempt;
}

/** The request's attempt that is under way, or was the last. */
export function attemptOf(request: IncomingMessage): Attempt | undefined {
  return (request as Attempted)[ATTEMPT];
}

/** Kept in the request itself: what a WeakMap held would outlive many a collection of garbage. */
export function setAttempt(request: IncomingMessage, attempt: Attempt): void {
  (request as Attempted)[ATTEMPT] = attempt;
}
