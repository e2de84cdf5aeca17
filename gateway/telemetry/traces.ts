import type { IncomingMessage } from 'node:http';
import { oneHeader } from '#kit/downstream/headers.ts';
import type { Span } from '#kit/telemetry/tracing/span.ts';
import { TRACEPARENT_HEADER, TRACESTATE_HEADER } from '#kit/telemetry/tracing/trace-context.ts';
import type { Tracer } from '#kit/telemetry/tracing/tracer.ts';

/** Starts the span of a client's request. Called before its headers are removed. */
export function startTrace(tracer: Tracer | undefined, request: IncomingMessage, requestId: string): Span | undefined {
  return tracer?.ofClient(requestId, oneHeader(request, TRACEPARENT_HEADER), oneHeader(request, TRACESTATE_HEADER));
}

/**
 * Puts the trace of a request into the headers for the service. Returns the span of the request to the service, if it is
 * recorded.
 */
export function startForwarding({ headers }: IncomingMessage, span: Span | undefined): Span | undefined {
  if (!span || span.followsFromRequestId) return undefined;
  const call = span.isRecording ? span.startCall() : undefined;
  headers[TRACEPARENT_HEADER] = (call ?? span).traceparent;
  if (span.traceState !== undefined) headers[TRACESTATE_HEADER] = span.traceState;
  return call;
}
