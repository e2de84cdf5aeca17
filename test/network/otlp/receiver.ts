import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';

/** A span as the collector receives it. */
export interface ReceivedSpan {
  /** The name of the process that sent it. */
  service: string;
  /** The attributes of the process. */
  resource: Record<string, unknown>;
  traceId: string;
  spanId: string;
  /** Empty for the first span of a trace. */
  parentSpanId: string;
  traceState: string;
  name: string;
  kind: string;
  startedAt: bigint;
  endedAt: bigint;
  attributes: Record<string, unknown>;
  hasFailed: boolean;
}

interface KeyValue {
  key: string;
  value: Record<string, unknown> & { value: string };
}

interface ExportRequest {
  resourceSpans: { resource: { attributes: KeyValue[] }; scopeSpans: { spans: SpanMessage[] }[] }[];
}

interface SpanMessage {
  traceId: Buffer;
  spanId: Buffer;
  parentSpanId: Buffer;
  traceState: string;
  name: string;
  kind: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: KeyValue[];
  status: { code: string; message: string } | null;
}

const PROTO = fileURLToPath(new URL('./trace.proto', import.meta.url));
const OPTIONS = { longs: String, enums: String, defaults: true, oneofs: true };
const service = loadSync(PROTO, OPTIONS)['opentelemetry.proto.collector.trace.v1.TraceService'] as ServiceDefinition;
const decode = service['Export']?.requestDeserialize as unknown as (bytes: Buffer) => ExportRequest;

/** A collector that receives traces by OTLP over HTTP with protobuf. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** The decoded bodies of all requests, for searches. */
  readonly bodies: Buffer[] = [];
  /** The headers of the last request. */
  headers: IncomingHttpHeaders = {};
  /** The status of responses; `null` lets requests wait without a response. */
  status: number | null = 200;
  readonly #server: Server = createServer((request, response) => void this.#receive(request, response));

  async start(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The spans of one trace. */
  trace(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    this.headers = request.headers;
    if (this.status === null) return;
    const isTraces = request.method === 'POST' && request.url === '/v1/traces';
    if (isTraces && this.status === 200) {
      this.bodies.push(body);
      this.spans.push(...spansIn(body));
    }
    response.writeHead(isTraces ? this.status : 404, { 'content-type': 'application/x-protobuf' }).end();
  }
}

/** The spans in the body of a request to a collector. */
export function spansIn(body: Buffer): ReceivedSpan[] {
  return decode(body).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const attributes = valuesOf(resource.attributes);
    const service = String(attributes['service.name']);
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ service, resource: attributes, ...received(span) })),
    );
  });
}

function received(span: SpanMessage): Omit<ReceivedSpan, 'service' | 'resource'> {
  const { name, kind, traceState } = span;
  return {
    name,
    kind,
    traceState,
    traceId: span.traceId.toString('hex'),
    spanId: span.spanId.toString('hex'),
    parentSpanId: span.parentSpanId.toString('hex'),
    startedAt: BigInt(span.startTimeUnixNano),
    endedAt: BigInt(span.endTimeUnixNano),
    attributes: valuesOf(span.attributes),
    hasFailed: span.status?.code === 'STATUS_CODE_ERROR',
  };
}

function valuesOf(pairs: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value[value.value]]));
}
