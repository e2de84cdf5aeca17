import { performance } from 'node:perf_hooks';
import type { MetricValueWithName } from 'prom-client';

type Labels<Label extends string> = Partial<Record<Label, string | number>>;

/** What prom-client's registry asks a metric for at a scrape. */
interface Shown<Row = MetricValueWithName<string>> {
  name: string;
  help: string;
  type: 'counter' | 'histogram';
  aggregator: 'sum';
  values: Row[];
}

/** A row as the registry writes it: the text of labels that many rows share is made once, and kept from scrape to scrape. */
interface SharedRow {
  metricName: string;
  labels: Record<string, string | number>;
  sharedLabels: Record<string, string | number>;
  value: number;
}

/** By the value of one label as text: the maps of the next label, or what is held. */
type Level = Map<string, unknown>;

/** What a metric holds for each set of its labels' values, found without writing them into one text first. */
class Series<Label extends string, Held> {
  readonly #names: readonly Label[];
  readonly #make: () => Held;
  readonly #root: Level = new Map();
  readonly all: { labels: Record<string, string | number>; held: Held }[] = [];

  constructor(names: readonly Label[], make: () => Held) {
    // Without labels there is one series, found like that of a label that is not given.
    this.#names = names.length > 0 ? names : ['' as Label];
    this.#make = make;
  }

  of(labels: Labels<Label>): Held {
    let found: unknown = this.#root;
    for (const name of this.#names) found = (found as Level | undefined)?.get(String(labels[name]));
    return (found as Held | undefined) ?? this.#add(labels);
  }

  #add(labels: Labels<Label>): Held {
    const held = this.#make();
    let level = this.#root;
    for (const name of this.#names.slice(0, -1)) {
      const value = String(labels[name]);
      const next = (level.get(value) as Level | undefined) ?? new Map();
      level.set(value, next);
      level = next;
    }
    level.set(String(labels[this.#names.at(-1) as Label]), held);
    const given = this.#names.filter((name) => labels[name] !== undefined);
    this.all.push({ labels: Object.fromEntries(given.map((name) => [name, labels[name] as string | number])), held });
    return held;
  }
}

interface Description<Label extends string> {
  name: string;
  help: string;
  labelNames: readonly Label[];
}

/** A metric that prom-client's registry shows; it counts several times as fast as prom-client's own. */
abstract class Family<Label extends string, Held> {
  readonly name: string;
  readonly help: string;
  abstract readonly type: Shown['type'];
  protected readonly series: Series<Label, Held>;

  constructor({ name, help, labelNames }: Description<Label>, make: () => Held) {
    this.name = name;
    this.help = help;
    this.series = new Series(labelNames, make);
    // One that has no labels is shown from the start.
    if (labelNames.length === 0) this.series.of({});
  }

  async get(): Promise<Shown> {
    const values = this.rows().map(({ metricName, labels, sharedLabels, value }) => {
      return { metricName, labels: { ...labels, ...sharedLabels }, value };
    });
    return this.#shown(values);
  }

  /** What the registry asks for when it writes text. */
  async getForPromString(): Promise<Shown<SharedRow>> {
    return this.#shown(this.rows());
  }

  #shown<Row>(values: Row[]): Shown<Row> {
    const { name, help, type } = this;
    return { name, help, type, aggregator: 'sum', values };
  }

  protected abstract rows(): SharedRow[];
}

/** A number that only grows. */
export class Counter<Label extends string = string> extends Family<Label, { value: number }> {
  readonly type = 'counter';

  constructor(description: Description<Label>) {
    super(description, () => ({ value: 0 }));
  }

  inc(labels: Labels<Label> = {}, by = 1): void {
    this.series.of(labels).value += by;
  }

  protected rows(): SharedRow[] {
    const { name: metricName } = this;
    return this.series.all.map(({ labels, held }) => {
      return { metricName, labels: {}, sharedLabels: labels, value: held.value };
    });
  }
}

interface Observed {
  /** For each bound, how many were at most that and more than the bound before; then how many were more. */
  buckets: number[];
  sum: number;
}

/** A histogram of seconds. */
export class Durations<Label extends string = string> extends Family<Label, Observed> {
  readonly type = 'histogram';
  readonly #bounds: readonly number[];

  /** `bounds` in rising order. */
  constructor(description: Description<Label>, bounds: readonly number[]) {
    super(description, () => ({ buckets: [...bounds, Number.POSITIVE_INFINITY].map(() => 0), sum: 0 }));
    this.#bounds = bounds;
  }

  observe(labels: Labels<Label>, seconds: number): void {
    const observed = this.series.of(labels);
    let bucket = 0;
    while (bucket < this.#bounds.length && seconds > (this.#bounds[bucket] as number)) bucket++;
    (observed.buckets[bucket] as number)++;
    observed.sum += seconds;
  }

  /** Observes the time from now until what it returns is called. */
  startTimer(labels: Labels<Label> = {}): () => void {
    const started = performance.now();
    return () => this.observe(labels, (performance.now() - started) / 1000);
  }

  protected rows(): SharedRow[] {
    const { name } = this;
    return this.series.all.flatMap(({ labels: sharedLabels, held: { buckets, sum } }) => {
      let count = 0;
      const cumulative = buckets.map((inBucket, index) => {
        count += inBucket;
        const le = this.#bounds[index] ?? '+Inf';
        return { metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: count };
      });
      return [
        ...cumulative,
        { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
        { metricName: `${name}_count`, labels: {}, sharedLabels, value: count },
      ];
    });
  }
}
