import type { Metadata, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { PURPOSE_HEADER, type Purpose, type RequestContext, readPurpose } from '../context.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '../http/request-id.ts';
import type { Span, SpanDescription } from '../telemetry/tracing/span.ts';
import { TRACEPARENT_HEADER, TRACESTATE_HEADER } from '../telemetry/tracing/trace-context.ts';
import type { Tracer } from '../telemetry/tracing/tracer.ts';

export type AnyCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;

/** Returns a function that reads the first value of a header. */
export const headersOf = (metadata: Metadata) => (name: string) => metadata.get(name)[0]?.toString();

/** Creates the context of a gRPC call from its headers. All messages about a single guild have its ID in `guildId`. */
export function contextOf(path: string, call: AnyCall): RequestContext {
  const context: RequestContext = { requestId: requestIdOf(headersOf(call.metadata)(REQUEST_ID_HEADER)), route: path };
  const guildId = (call.request as { guildId?: unknown } | undefined)?.guildId;
  if (typeof guildId === 'string') context.guildId = guildId;
  return context;
}

/** Returns why a gRPC call is made, by its headers. */
export const purposeOf = ({ metadata }: AnyCall): Purpose => readPurpose(headersOf(metadata)(PURPOSE_HEADER));

/** Starts the span of a call, if traces are exported. */
export function startSpan(tracer: Tracer | undefined, call: AnyCall): Span | undefined {
  if (!tracer) return undefined;
  const header = headersOf(call.metadata);
  return tracer.ofCall(header(TRACEPARENT_HEADER), header(TRACESTATE_HEADER));
}

/** Describes a gRPC call in a trace; `path` is `/package.Service/Method`. */
export function describeCall(path: string): SpanDescription {
  const [, service = '', method = ''] = path.split('/');
  return { name: path.slice(1), attributes: { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method } };
}
