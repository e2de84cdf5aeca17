import { requestContext } from '../../context.ts';
import type { Span } from './span.ts';
import { TRACEPARENT_HEADER, TRACESTATE_HEADER } from './trace-context.ts';

/** Returns the span of the current request if its calls are recorded. */
export function recordedSpan(): Span | undefined {
  const span = requestContext.getStore()?.span;
  return span?.isRecording ? span : undefined;
}

/**
 * Runs work that other requests may need too, such as that of a queue, without the trace of the request that started it. The
 * request ID stays, for log lines.
 */
export function withoutTrace<Result>(work: () => Result): Result {
  const context = requestContext.getStore();
  if (!context?.span) return work();
  return requestContext.run({ ...context, span: undefined }, work);
}

/**
 * Returns the headers that carry the trace of the current request to another process; none without a trace. `call` is the
 * span of the call itself, if it is recorded.
 */
export function traceHeaders(call?: Span): [name: string, value: string][] {
  const span = call ?? requestContext.getStore()?.span;
  // Work in the background keeps the context of the request that started it.
  if (!span || span.hasEnded) return [];
  const headers: [string, string][] = [[TRACEPARENT_HEADER, span.traceparent]];
  if (span.traceState !== undefined) headers.push([TRACESTATE_HEADER, span.traceState]);
  return headers;
}
