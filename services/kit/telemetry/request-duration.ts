import type { Histogram } from 'prom-client';
import type { Span } from './tracing/span.ts';

const NO_EXEMPLAR = {};

/** A histogram of the durations of requests. Requests whose trace is sampled leave its ID as an exemplar. */
export class RequestDuration<Label extends string> {
  readonly #histogram: Histogram<Label>;
  readonly #hasExemplars: boolean;

  constructor(histogram: Histogram<Label>, hasExemplars: boolean) {
    this.#histogram = histogram;
    this.#hasExemplars = hasExemplars;
  }

  /** Exports the series before its first request. */
  zero(labels: Record<Label, string>): void {
    this.#histogram.zero(labels);
  }

  observe(labels: Record<Label, string>, seconds: number, span: Span | undefined): void {
    if (!this.#hasExemplars) return this.#histogram.observe(labels, seconds);
    const exemplarLabels = span?.isSampled ? { trace_id: span.traceId } : NO_EXEMPLAR;
    this.#histogram.observe({ labels, value: seconds, exemplarLabels });
  }
}
