/** One value of a metric, with its labels. */
export interface Line {
  labels: Readonly<Record<string, string>>;
  value: number;
}

const LINE = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;
const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:\\.|[^"\\])*)"/g;

/** The metrics that a process reported at one time. */
export class Page {
  /** When the metrics were read, in Unix milliseconds. */
  readonly at: number;
  readonly #lines = new Map<string, Line[]>();

  /** Parses metrics in the Prometheus text format. Comments and invalid lines are ignored. */
  constructor(text: string, at: number) {
    this.at = at;
    for (const line of text.split('\n')) {
      const [, name, labels = '', value] = LINE.exec(line) ?? [];
      if (name === undefined) continue;
      const lines = this.#lines.get(name) ?? [];
      lines.push({ labels: readLabels(labels), value: Number(value) });
      this.#lines.set(name, lines);
    }
  }

  /** Returns the names of all metrics. */
  get names(): string[] {
    return [...this.#lines.keys()];
  }

  lines(name: string): readonly Line[] {
    return this.#lines.get(name) ?? [];
  }

  /**
   * Returns the sum of the values of a metric whose labels match `isWanted`; undefined if the metric does not exist.
   */
  sum(name: string, isWanted: (labels: Line['labels']) => boolean = () => true): number | undefined {
    const lines = this.#lines.get(name);
    return lines?.filter(({ labels }) => isWanted(labels)).reduce((sum, { value }) => sum + value, 0);
  }
}

function readLabels(text: string): Record<string, string> {
  const labels = [...text.matchAll(LABEL)].map(([, name = '', value = '']) => [name, unescape(value)]);
  return Object.fromEntries(labels);
}

const unescape = (text: string) =>
  text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
