import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import packageJson from '../../../package.json' with { type: 'json' };
import { Counter, Durations } from './series.ts';

/** Seconds, from half a millisecond. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** A process's metrics. Each service has its own, also where several run in one process. */
export class Metrics {
  readonly registry = new Registry();
  /** By gauge, what reads it at each scrape: one function for each part that has it. */
  readonly #readers = new Map<string, (() => void)[]>();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    this.#collectUtilisation();
    const { version } = packageJson;
    this.gauge('build_info', '1, with the version that runs', ['version']).set({ version }, 1);
  }

  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> {
    return this.#once(name, () => this.#register(new Counter({ name, help, labelNames })));
  }

  /** A counter by one label whose values are known: each is shown from the start, so that its first increase is seen. */
  counterOf<Label extends string>(name: string, help: string, label: Label, values: readonly string[]): Counter<Label> {
    const counter = this.counter(name, help, [label]);
    for (const value of values) counter.inc({ [label]: value } as Record<Label, string>, 0);
    return counter;
  }

  /** A gauge that is set, or that `collect` reads at each scrape; parts that share it differ in their labels. */
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

  /** A histogram of seconds. */
  duration<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Durations<Label> {
    return this.#once(name, () => this.#register(new Durations({ name, help, labelNames }, DURATION_BUCKETS)));
  }

  /** Parts of the same kind share a metric. */
  #once<Kind>(name: string, make: () => Kind): Kind {
    return (this.registry.getSingleMetric(name) as Kind | undefined) ?? make();
  }

  /** All metrics as Prometheus reads them; requests are answered between one and the next. */
  async text(): Promise<string> {
    const texts: string[] = [];
    for (const { name } of this.registry.getMetricsAsArray() as { name: string }[]) {
      texts.push(await this.registry.getSingleMetricAsString(name));
      await nextTurn();
    }
    return `${texts.join('\n\n')}\n`;
  }

  #register<Kind extends { name: string }>(metric: Kind): Kind {
    // The registry takes whatever has a name and get(); its type knows prom-client's own classes alone.
    this.registry.registerMetric(metric as unknown as Metric);
    return metric;
  }

  #collectUtilisation(): void {
    let last = performance.eventLoopUtilization();
    this.gauge(
      'event_loop_utilisation_ratio',
      'Share of time since the last scrape that the loop was busy',
      [],
      (gauge) => {
        const current = performance.eventLoopUtilization();
        gauge.set(performance.eventLoopUtilization(current, last).utilization);
        last = current;
      },
    );
  }
}
