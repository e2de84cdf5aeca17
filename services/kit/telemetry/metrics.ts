import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import packageJson from '../../../package.json' with { type: 'json' };

/** The upper limits of the histogram buckets for durations, in seconds. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics of one service. If several services run in one process, each has its own metrics. */
export class Metrics {
  readonly registry = new Registry();
  /**
   * The functions that set each gauge at a scrape, by the name of the gauge: one function for each part that shares the
   * gauge.
   */
  readonly #readers = new Map<string, (() => void)[]>();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    this.#collectUtilisation();
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
    for (const value of values) counter.inc({ [label]: value } as Record<Label, string>, 0);
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

  /** Returns the metric with a name. Only the first caller creates it, because several parts may share a metric. */
  #once<Kind>(name: string, make: () => Kind): Kind {
    return (this.registry.getSingleMetric(name) as Kind | undefined) ?? make();
  }

  /**
   * Returns all metrics in Prometheus's text format. Lets other work run after each metric, so that a scrape does not
   * delay requests.
   */
  async text(): Promise<string> {
    const texts: string[] = [];
    for (const { name } of this.registry.getMetricsAsArray() as { name: string }[]) {
      texts.push(await this.registry.getSingleMetricAsString(name));
      await nextTurn();
    }
    return `${texts.join('\n\n')}\n`;
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
