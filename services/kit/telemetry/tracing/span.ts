import { performance } from 'node:perf_hooks';
import { ApiError, isServerError } from '../../errors.ts';
import { newSpanId, traceIdIn, traceparentOf } from './trace-context.ts';

/** `server`: handles a request; `client`: waits for another process or a database. */
export type SpanKind = 'server' | 'client';

/** Few, fixed values: never a raw path, a user, an address, a secret, or the values of an SQL statement. */
export type Attributes = Record<string, string | number | boolean>;

/** What a span is about. */
export interface SpanDescription {
  /** The operation, such as `GET /api/v1/lookup/chat/:chatId`. */
  name: string;
  attributes: Attributes;
}

/** A span that has ended, as it is exported. */
export interface FinishedSpan extends SpanDescription {
  traceId: string;
  spanId: string;
  /** The span that caused this one; undefined for the first span of a trace. */
  parentSpanId: string | undefined;
  traceState: string | undefined;
  kind: SpanKind;
  /** Unix milliseconds, with fractions. */
  startedAt: number;
  endedAt: number;
  /** A short code of the error with which the operation ended; undefined after a success. */
  error: string | undefined;
}

/** What happened to a span: `rate_limited` concerns errors of unsampled traces. */
export const SPAN_RESULTS = ['exported', 'queue_full', 'export_failed', 'rate_limited'] as const;
export type SpanResult = (typeof SPAN_RESULTS)[number];

export interface SpanRecorder {
  /** Receives each span of a sampled trace when it ends. */
  record(span: FinishedSpan): void;
  /** Receives the first span of a trace that was not sampled and ended with an error. */
  recordUnsampledError(span: FinishedSpan): void;
}

/** Which ends of a call are failures. Errors that reject the request never are. */
export interface CallRules<Result> {
  /** Returns the error code of a result that is a failure. */
  failureIn?: (result: Result) => string | undefined;
  /** True for an error that is an ordinary end of the call. */
  isExpected?: (error: unknown) => boolean;
}

/** The place of a span in its trace. */
export interface SpanIds {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  traceState: string | undefined;
}

interface SpanOptions {
  recorder: SpanRecorder;
  kind: SpanKind;
  /** True if the trace is recorded. */
  isSampled: boolean;
  /** True if this process decided whether the trace is sampled: no other process of ours caused the span. */
  isRoot: boolean;
  /** If undefined, the IDs are made from `requestId` when they are first read. Most requests never read them. */
  ids: SpanIds | undefined;
  /** The ID of a request that is not sampled, if it contains the trace ID. */
  requestId: string | undefined;
}

/**
 * One operation of a trace: the handling of a request, or a call that it makes. A span that is not sampled only passes
 * on its IDs.
 */
export class Span {
  readonly isSampled: boolean;
  /**
   * True if the trace is not sampled and its ID follows from the request ID. A service that gets a request without trace
   * headers then finds the same trace.
   */
  readonly followsFromRequestId: boolean;
  readonly #options: SpanOptions;
  readonly #startedAt = Date.now();
  /** performance.now() at the start: the duration does not depend on changes of the system's time. */
  readonly #started = performance.now();
  #ids: SpanIds | undefined;
  #hasEnded = false;

  constructor(options: SpanOptions) {
    this.isSampled = options.isSampled;
    this.followsFromRequestId = options.ids === undefined;
    this.#ids = options.ids;
    this.#options = options;
  }

  get traceId(): string {
    return this.#place.traceId;
  }

  get traceState(): string | undefined {
    return this.#place.traceState;
  }

  /**
   * True while calls of the request are recorded. False after its end: work in the background, which keeps the context of
   * the request that started it, does not belong to its trace.
   */
  get isRecording(): boolean {
    return this.isSampled && !this.#hasEnded;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The header traceparent of calls that this span makes. */
  get traceparent(): string {
    const { traceId, spanId } = this.#place;
    return traceparentOf(traceId, spanId, this.isSampled);
  }

  /** Runs `work`, a call that this span makes, as a span of its own. Call it only while `isRecording`. */
  async call<Result>(
    description: SpanDescription,
    work: (span: Span) => Promise<Result>,
    { failureIn, isExpected }: CallRules<Result> = {},
  ): Promise<Result> {
    const span = this.startCall();
    try {
      const result = await work(span);
      span.end(failureIn?.(result), () => description);
      return result;
    } catch (error) {
      span.end(isExpected?.(error) ? undefined : failureOf(error), () => description);
      throw error;
    }
  }

  /** Starts the span of a call that this span makes. Call it only while `isRecording`. */
  startCall(): Span {
    const ids = { ...this.#place, spanId: newSpanId(), parentSpanId: this.#place.spanId };
    return new Span({ ...this.#options, kind: 'client', ids, isRoot: false });
  }

  /** Ends the span; only the first call counts. `describe` is called only if the span is exported. */
  end(error: string | undefined, describe: () => SpanDescription): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { recorder, isRoot } = this.#options;
    if (this.isSampled) recorder.record(this.#finished(error, describe()));
    else if (isRoot && error !== undefined) recorder.recordUnsampledError(this.#finished(error, describe()));
  }

  #finished(error: string | undefined, description: SpanDescription): FinishedSpan {
    const { kind } = this.#options;
    const endedAt = this.#startedAt + performance.now() - this.#started;
    return { ...description, ...this.#place, kind, startedAt: this.#startedAt, endedAt, error };
  }

  get #place(): SpanIds {
    return (this.#ids ??= firstIds(traceIdIn(this.#options.requestId ?? '')));
  }
}

/** Returns the IDs of the first span of a trace. */
export function firstIds(traceId: string): SpanIds {
  return { traceId, spanId: newSpanId(), parentSpanId: undefined, traceState: undefined };
}

/** Returns the error code of a span that ended with `error`; undefined for an error that rejects the request. */
export function failureOf(error: unknown): string | undefined {
  return error instanceof ApiError && !isServerError(error) ? undefined : errorCode(error);
}

const CODE = /^[\w .-]{1,64}$/;

/** Returns a short code for an error: that of an ApiError or of PostgreSQL, otherwise its name. Never its message. */
function errorCode(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const found = [code, name].find((text) => typeof text === 'string' && CODE.test(text));
  return (found as string | undefined) ?? 'unknown';
}
