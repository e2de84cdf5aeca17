import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, TraceState } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import packageJson from '../../../../package.json' with { type: 'json' };
import { readCa } from '../../security/extra-ca.ts';
import type { Logger } from '../log.ts';
import type { FinishedSpan, SpanResult } from './span.ts';

/** The maximum number of spans that wait for the collector, or are being sent to it. Further ones are dropped. */
const MAX_QUEUED = 4_096;
const MAX_BATCH = 512;
/** The timeout of one request to the collector with its retries, in milliseconds. */
const EXPORT_MS = 5_000;
/** How long the processor waits for the exporter: longer, so that the exporter itself reports its timeout. */
const PROCESSOR_MS = EXPORT_MS + 5_000;

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT };
const SCOPE = { name: packageJson.name, version: packageJson.version };

export interface OtlpExportOptions {
  /** The base URL of the collector; `/v1/traces` is appended. */
  endpoint: string;
  /** Headers of the requests to the collector, such as a token. */
  headers: Record<string, string>;
  /** The PEM file of a private CA; Node's CAs if left out. */
  caFile: string | undefined;
  /** Attributes of this installation that every trace has. */
  resource: Record<string, string>;
  /** How long, in milliseconds, spans are collected before they are sent: each request to the collector costs as much CPU as hundreds of spans. */
  delayMs: number;
  /** The name of the process. */
  service: string;
  log: Logger;
  count: (result: SpanResult, spans: number) => void;
}

/**
 * Sends spans to a collector by OTLP over HTTP, in batches. The only file that imports OpenTelemetry's modules. If the
 * collector is unavailable or too slow, spans are dropped and counted.
 */
export class OtlpExport {
  readonly #processor: BatchSpanProcessor;
  readonly #resource: Resource;
  readonly #log: Logger;
  readonly #count: OtlpExportOptions['count'];
  /** Runs work outside of the request whose span started the export, so that log lines do not name that request. */
  readonly #outsideRequests = AsyncLocalStorage.snapshot();
  #queued = 0;
  #isFailing = false;

  constructor({ endpoint, headers, caFile, resource, delayMs, service, log, count }: OtlpExportOptions) {
    this.#log = log;
    this.#count = count;
    const exporter = new OTLPTraceExporter({
      url: `${endpoint}/v1/traces`,
      headers,
      timeoutMillis: EXPORT_MS,
      httpAgentOptions: {
        keepAlive: true,
        ...(caFile !== undefined && { ca: readCa('OTEL_EXPORTER_OTLP_CERTIFICATE', caFile) }),
      },
    });
    this.#processor = new BatchSpanProcessor({
      exporter: this.#counting(exporter),
      maxQueueSize: MAX_QUEUED,
      maxExportBatchSize: MAX_BATCH,
      scheduledDelayMillis: delayMs,
      exportTimeoutMillis: PROCESSOR_MS,
    });
    this.#resource = resourceFromAttributes({
      'service.namespace': packageJson.name,
      'service.version': packageJson.version,
      'service.instance.id': hostname(),
      ...resource,
      'service.name': service,
    });
  }

  /** Queues a span, or drops it if too many wait already. */
  add(span: FinishedSpan): void {
    if (this.#queued >= MAX_QUEUED) return this.#count('queue_full', 1);
    this.#queued++;
    this.#processor.onEnd(this.#readable(span));
  }

  /** Sends the spans that wait. Spans that end later are dropped. */
  async close(): Promise<void> {
    // The exporter counts and logs a failure.
    await this.#processor.shutdown().catch(() => undefined);
  }

  /** Counts what happens to the spans that the exporter gets. */
  #counting(exporter: OTLPTraceExporter): SpanExporter {
    return {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          this.#queued -= spans.length;
          this.#outsideRequests(() => this.#exported(result, spans.length));
          done(result);
        }),
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    };
  }

  #exported({ code, error }: ExportResult, spans: number): void {
    const isSuccess = code === ExportResultCode.SUCCESS;
    this.#count(isSuccess ? 'exported' : 'export_failed', spans);
    if (isSuccess !== this.#isFailing) return;
    this.#isFailing = !isSuccess;
    if (isSuccess) this.#log.info('traces are exported again');
    else this.#log.warn({ error: error?.message }, 'traces cannot be exported, spans are dropped until they can');
  }

  /** Names each property, because copying the rest of an object costs several times as much. */
  #readable(span: FinishedSpan): ReadableSpan {
    const { traceId, spanId, parentSpanId, traceState, startedAt, endedAt, error } = span;
    const traceFlags = TraceFlags.SAMPLED;
    const state = traceState === undefined ? undefined : new TraceState(traceState);
    const context = { traceId, spanId, traceFlags, ...(state && { traceState: state }) };
    const isRemote = span.kind === 'server';
    return {
      name: span.name,
      kind: KINDS[span.kind],
      spanContext: () => context,
      ...(parentSpanId !== undefined && { parentSpanContext: { ...context, spanId: parentSpanId, isRemote } }),
      startTime: hrTime(startedAt),
      endTime: hrTime(endedAt),
      duration: hrTime(endedAt - startedAt),
      status: { code: error === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: error === undefined ? span.attributes : { ...span.attributes, 'error.type': error },
      links: [],
      events: [],
      ended: true,
      resource: this.#resource,
      instrumentationScope: SCOPE,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

/** Converts milliseconds to OpenTelemetry's pair of seconds and nanoseconds. */
function hrTime(milliseconds: number): [number, number] {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
}
