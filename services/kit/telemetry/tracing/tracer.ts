import { performance } from 'node:perf_hooks';
import { DeadlineError, within } from '../../resilience/deadline.ts';
import type { Part } from '../../service/lifecycle.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { OtlpExport } from './otlp-export.ts';
import { PerSecond } from './per-second.ts';
import { type FinishedSpan, firstIds, SPAN_RESULTS, Span, type SpanIds, type SpanRecorder } from './span.ts';
import {
  containsTraceId,
  newSpanId,
  newTraceId,
  type RemoteSpan,
  readTraceHeaders,
  traceIdIn,
} from './trace-context.ts';

/**
 * The maximum number of root spans of errors in unsampled traces that a process exports per second. An outage, in which
 * every request fails, must not multiply the load.
 */
const MAX_ERRORS_PER_SECOND = 20;
/** How long, in milliseconds, a stop waits for the collector to receive the last spans. */
const FLUSH_MS = 2_000;

export interface TracingConfig {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  OTEL_EXPORTER_OTLP_HEADERS: Record<string, string>;
  OTEL_EXPORTER_OTLP_CERTIFICATE?: string | undefined;
  OTEL_RESOURCE_ATTRIBUTES: Record<string, string>;
  TRACING_SAMPLE_RATIO: number;
  TRACING_CALLER_SAMPLES_PER_SECOND: number;
  OTEL_BSP_SCHEDULE_DELAY: number;
}

export interface TracerOptions {
  /** The name of the process. */
  service: string;
  metrics: Metrics;
  log: Logger;
}

/**
 * Starts the traces of a process and exports its spans by OTLP. The first process of ours that a request reaches decides
 * whether its trace is sampled; the others follow. OpenTelemetry's modules are loaded by `start`.
 */
export class Tracer implements Part, SpanRecorder {
  readonly name = 'tracing';
  readonly #config: TracingConfig;
  readonly #options: TracerOptions;
  readonly #spans;
  readonly #callerSamples: PerSecond;
  readonly #errors = new PerSecond(MAX_ERRORS_PER_SECOND, () => performance.now());
  #export: OtlpExport | undefined;

  /** Returns a tracer if a collector is configured. */
  static from(config: TracingConfig, options: TracerOptions): Tracer | undefined {
    return config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? undefined : new Tracer(config, options);
  }

  constructor(config: TracingConfig, options: TracerOptions) {
    this.#config = config;
    this.#options = options;
    this.#callerSamples = new PerSecond(config.TRACING_CALLER_SAMPLES_PER_SECOND, () => performance.now());
    const help = 'Spans of traces, by what happened to them; only exported ones reached the collector';
    this.#spans = options.metrics.counterOf('tracing_spans_total', help, 'result', SPAN_RESULTS);
  }

  /**
   * Starts the span of a request from a client, who may send any headers. The client's trace is continued, but whether it
   * is sampled is decided here, by chance: not from the trace ID, which the client chooses. Few traces that the client
   * samples are sampled in addition.
   */
  ofClient(requestId: string, traceparent: string | undefined, tracestate: string | undefined): Span {
    const caller = readTraceHeaders(traceparent, tracestate);
    const isSampled = this.#isSampledByChance() || (caller?.isSampled === true && this.#callerSamples.take());
    if (caller) return this.#serverSpan(idsBelow(caller, newSpanId()), isSampled, true);
    const hasTraceId = containsTraceId(requestId);
    if (hasTraceId && !isSampled) return this.#unsampledSpan(requestId, true);
    return this.#serverSpan(firstIds(hasTraceId ? traceIdIn(requestId) : newTraceId()), isSampled, true);
  }

  /**
   * Continues the trace of a request that the gateway or the console forwarded. The gateway sends no trace headers if the trace
   * is not sampled and its ID follows from the request ID.
   */
  ofForwarded(requestId: string, traceparent: string | undefined, tracestate: string | undefined): Span | undefined {
    if (traceparent === undefined && containsTraceId(requestId)) return this.#unsampledSpan(requestId, false);
    return this.ofCall(traceparent, tracestate);
  }

  /**
   * Continues the trace of a gRPC call from a process of ours, which has decided whether the trace is sampled. Returns
   * undefined if the caller sent no trace, because its work belongs to no request of a client: only those start traces.
   */
  ofCall(traceparent: string | undefined, tracestate: string | undefined): Span | undefined {
    const caller = readTraceHeaders(traceparent, tracestate);
    if (!caller) return undefined;
    // A span that is not recorded passes on the caller's ID, so it needs none of its own.
    const spanId = caller.isSampled ? newSpanId() : caller.spanId;
    return this.#serverSpan(idsBelow(caller, spanId), caller.isSampled, false);
  }

  record(span: FinishedSpan): void {
    this.#export?.add(span);
  }

  recordUnsampledError(span: FinishedSpan): void {
    if (this.#errors.take()) this.record(span);
    else this.#spans.inc({ result: 'rate_limited' });
  }

  async start(): Promise<void> {
    const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = '', ...config } = this.#config;
    const { service, log } = this.#options;
    const { OtlpExport: Export } = await import('./otlp-export.ts');
    this.#export = new Export({
      endpoint,
      headers: config.OTEL_EXPORTER_OTLP_HEADERS,
      caFile: config.OTEL_EXPORTER_OTLP_CERTIFICATE,
      resource: config.OTEL_RESOURCE_ATTRIBUTES,
      delayMs: config.OTEL_BSP_SCHEDULE_DELAY,
      service,
      log,
      count: (result, spans) => this.#spans.inc({ result }, spans),
    });
  }

  /** Sends the last spans. Parts stop in reverse order, so that all others have ended their spans by now. */
  async stop(): Promise<void> {
    try {
      await within(FLUSH_MS, this.#export?.close() ?? Promise.resolve());
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      this.#options.log.warn('the last spans could not be sent to the collector in time, they are lost');
    }
  }

  #serverSpan(ids: SpanIds, isSampled: boolean, isRoot: boolean): Span {
    return new Span({ recorder: this, kind: 'server', ids, requestId: undefined, isSampled, isRoot });
  }

  /** Returns the span of a request whose ID contains the trace ID. */
  #unsampledSpan(requestId: string, isRoot: boolean): Span {
    return new Span({ recorder: this, kind: 'server', ids: undefined, requestId, isSampled: false, isRoot });
  }

  #isSampledByChance(): boolean {
    return Math.random() < this.#config.TRACING_SAMPLE_RATIO;
  }
}

/** Returns the IDs of a span that another process caused. */
function idsBelow({ traceId, spanId: parentSpanId, traceState }: RemoteSpan, spanId: string): SpanIds {
  return { traceId, spanId, parentSpanId, traceState };
}
