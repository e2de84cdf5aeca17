import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
  type RegistryContentType,
} from 'prom-client';
import packageJson from '../../../package.json' with { type: 'json' };
import { RequestDuration } from './request-duration.ts';

/** The upper limits of the histogram buckets for durations, in seconds. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The text formats of metrics. Only OpenMetrics has exemplars. */
export type MetricsFormat = 'prometheus' | 'openmetrics';

export const METRICS_CONTENT_TYPE = {
  prometheus: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
} as const;

/**
 * Gives a counter a series of 0 for each of these sets of label values, so that Prometheus sees their first increase.
 * Without it the series appears with its first value, which no function of Prometheus counts as an increase.
 */
export function countFromZero<Label extends string>(
  counter: Counter<Label>,
  labelSets: Iterable<Record<Label, string | number>>,
): void {
  for (const labels of labelSets) counter.inc(labels, 0);
}

let processRegistry: Registry | undefined;

/**
 * Returns prom-client's metrics of this Node process: CPU, memory, event loop, garbage collection. They are created once for all
 * registries, because prom-client cannot stop their timers: with a set for each registry, a process that starts and stops many
 * services, as tests do, would measure its event loop once for each of them.
 */
function metricsOfProcess(): Metric[] {
  if (!processRegistry) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry.getMetricsAsArray() as unknown as Metric[];
}

/**
 * The Prometheus metrics of one service. If several services run in one process, each has its own, except for the metrics of the
 * process itself, such as its CPU and memory.
 */
export class Metrics {
  readonly registry: Registry = new Registry();
  readonly #hasExemplars: boolean;
  /** The names of the histograms with exemplars. */
  readonly #traced = new Set<string>();
  /** Settles when the texts that were requested earlier are complete. */
  #written: Promise<unknown> = Promise.resolve();
  /**
   * The functions that set each gauge at a scrape, by the name of the gauge: one function for each part that shares the
   * gauge.
   */
  readonly #readers = new Map<string, (() => void)[]>();

  /**
   * With `exemplars` the durations of requests name traces, for scrapers that accept OpenMetrics. `ofProcess: false` leaves out
   * the metrics of the process itself, such as its start time.
   */
  constructor({ exemplars = false, ofProcess = true } = {}) {
    this.#hasExemplars = exemplars;
    if (ofProcess) {
      for (const metric of metricsOfProcess()) this.registry.registerMetric(metric);
      this.#collectUtilisation();
    }
    const { version } = packageJson;
    this.gauge('build_info', 'Always 1; the label version holds the running version of the service', ['version']).set(
      { version },
      1,
    );
  }

  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> {
    return this.#once(name, () => new Counter({ name, help, labelNames, registers: [this.registry] }));
  }

  /**
   * Creates a counter with one label whose values are known. Each value has a series of 0 from the start, so that
   * Prometheus sees the first increase.
   */
  counterOf<Label extends string>(name: string, help: string, label: Label, values: readonly string[]): Counter<Label> {
    const counter = this.counter(name, help, [label]);
    countFromZero(
      counter,
      values.map((value) => ({ [label]: value }) as Record<Label, string>),
    );
    return counter;
  }

  /** Creates a gauge. `collect` sets the gauge at each scrape; parts that share a gauge set different label values. */
  gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    collect?: (gauge: Gauge<Label>) => void,
  ): Gauge<Label> {
    const readers = this.#readers.get(name) ?? [];
    this.#readers.set(name, readers);
    const read = () => readers.forEach((reader) => reader());
    const gauge = this.#once(
      name,
      () => new Gauge({ name, help, labelNames, registers: [this.registry], collect: read }),
    );
    if (collect) readers.push(() => collect(gauge));
    return gauge;
  }

  /** Creates a histogram of durations in seconds. */
  duration<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Histogram<Label> {
    return this.#once(
      name,
      () => new Histogram({ name, help, labelNames, buckets: DURATION_BUCKETS, registers: [this.registry] }),
    );
  }

  /** Creates a histogram of the durations of requests in seconds, with exemplars if traces are exported. */
  requestDuration<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
  ): RequestDuration<Label> {
    const enableExemplars = this.#hasExemplars;
    const options = { name, help, labelNames, buckets: DURATION_BUCKETS, enableExemplars, registers: [this.registry] };
    if (!enableExemplars)
      return new RequestDuration(
        this.#once(name, () => new Histogram(options)),
        false,
      );
    this.#traced.add(name);
    // prom-client creates histograms with exemplars only in registries of OpenMetrics.
    this.#setFormat('openmetrics');
    const histogram = this.#once(name, () => new Histogram(options));
    this.#setFormat('prometheus');
    return new RequestDuration(histogram, true);
  }

  /** Returns the format for a scraper, by its Accept header. */
  formatFor(accept: string | undefined): MetricsFormat {
    return this.#hasExemplars && accept?.includes('application/openmetrics-text') ? 'openmetrics' : 'prometheus';
  }

  /** Returns the metric with a name. Only the first caller creates it, because several parts may share a metric. */
  #once<Kind>(name: string, make: () => Kind): Kind {
    return (this.registry.getSingleMetric(name) as Kind | undefined) ?? make();
  }

  /**
   * Returns all metrics as text. Lets other work run after each metric, so that a scrape does not delay requests. One text
   * is written at a time, because the format is a setting of the whole registry.
   */
  text(format: MetricsFormat = 'prometheus'): Promise<string> {
    const text = this.#written.then(() => this.#write(format));
    this.#written = text.catch(() => undefined);
    return text;
  }

  async #write(format: MetricsFormat): Promise<string> {
    const texts: string[] = [];
    for (const { name } of this.registry.getMetricsAsArray() as { name: string }[]) {
      texts.push(await (format === 'openmetrics' ? this.#inOpenMetrics(name) : this.#asText(name)));
      await nextTurn();
    }
    return format === 'openmetrics' ? `${texts.join('\n')}\n# EOF\n` : `${texts.join('\n\n')}\n`;
  }

  #asText(name: string): Promise<string> {
    return this.registry.getSingleMetricAsString(name);
  }

  /**
   * Writes a metric in OpenMetrics. In this format only exemplars and the names of counter families differ. prom-client
   * would rename the counters themselves, and then write wrong names in the other format.
   */
  async #inOpenMetrics(name: string): Promise<string> {
    if (!this.#traced.has(name)) {
      const text = await this.#asText(name);
      if (!text.includes(`# TYPE ${name} counter`)) return text;
      return text.replaceAll(/^(# (?:HELP|TYPE) \w+)_total /gm, '$1 ');
    }
    this.#setFormat('openmetrics');
    try {
      return await this.#asText(name);
    } finally {
      this.#setFormat('prometheus');
    }
  }

  #setFormat(format: MetricsFormat): void {
    (this.registry as Registry<RegistryContentType>).setContentType(METRICS_CONTENT_TYPE[format]);
  }

  #collectUtilisation(): void {
    let last = performance.eventLoopUtilization();
    this.gauge(
      'event_loop_utilisation_ratio',
      'Share of the time since the last scrape that the event loop was busy, 0 to 1',
      [],
      (gauge) => {
        const current = performance.eventLoopUtilization();
        gauge.set(performance.eventLoopUtilization(current, last).utilization);
        last = current;
      },
    );
  }
}
