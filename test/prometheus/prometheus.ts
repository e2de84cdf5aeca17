import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { type Child, findProgram, startChild, untilReady } from '#local/child.ts';
import { freePorts } from '#local/ports.ts';
import { RULES } from '../contract/monitoring.ts';
import { filesBelow, readText } from '../contract/sources.ts';
import { faster } from './faster.ts';

const SCRAPE_MS = 1_000;

/** What Prometheus scrapes: the admin port of one process. */
export interface Target {
  /** The name of the service. */
  name: string;
  /** `host:port`. */
  address: string;
}

export interface Alert {
  name: string;
  labels: Record<string, string>;
  state: 'pending' | 'firing';
}

/** One series of the result of a query. */
export interface Sample {
  labels: Record<string, string>;
  value: number;
}

type QueryAnswer =
  | { status: 'error'; errorType: string; error: string }
  | {
      status: 'success';
      data: { result: { metric: Record<string, string>; value: [number, string] }[] };
      warnings?: string[];
      infos?: string[];
    };

/** The path of the program; undefined if it is not installed (Debian: `apt-get install prometheus`). */
export const prometheusProgram = () => findProgram('prometheus');

/** A Prometheus that scrapes some processes and evaluates the rules of the chart. */
export class Prometheus {
  readonly #folder: string;
  readonly #speed: number;
  #url = '';
  #child: Child | undefined;
  #output = '';

  /** `speed`: how many times faster than in production the rules look at the past; see `faster`. */
  constructor(folder: string, speed: number) {
    this.#folder = folder;
    this.#speed = speed;
  }

  async start(targets: readonly Target[]): Promise<void> {
    const program = prometheusProgram();
    if (program === undefined) throw new Error('Prometheus is not installed (Debian: apt-get install prometheus)');
    const [port = 0] = await freePorts(1);
    this.#url = `http://127.0.0.1:${port}`;
    mkdirSync(join(this.#folder, 'rules'), { recursive: true });
    for (const path of filesBelow(RULES, /\.yaml$/)) {
      writeFileSync(join(this.#folder, 'rules', basename(path)), faster(readText(path), this.#speed));
    }
    this.setTargets(targets);
    const config = join(this.#folder, 'prometheus.yml');
    writeFileSync(config, stringify(this.#config()));
    this.#child = await startChild({
      command: [
        program,
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(this.#folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=warn',
      ],
      output: (text) => (this.#output += text),
    });
    const isReady = () =>
      fetch(`${this.#url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await untilReady(this.#child, isReady, 30_000);
  }

  async stop(): Promise<void> {
    await this.#child?.stop(10_000);
  }

  /** What Prometheus has printed: warnings and errors. */
  get output(): string {
    return this.#output;
  }

  /** Replaces the processes that are scraped. Prometheus notices the change of the file within seconds. */
  setTargets(targets: readonly Target[]): void {
    const groups = targets.map(({ name, address }) => ({
      targets: [address],
      labels: { job: `guild-data/${name}`, cluster: 'lab', namespace: 'drill', release: 'drill' },
    }));
    const path = join(this.#folder, 'targets.json');
    writeFileSync(`${path}.new`, JSON.stringify(groups));
    renameSync(`${path}.new`, path);
  }

  /** The alerts that are pending or firing now. */
  async alerts(): Promise<Alert[]> {
    const { data } = (await (await fetch(`${this.#url}/api/v1/alerts`)).json()) as {
      data: { alerts: { labels: Record<string, string>; state: Alert['state'] }[] };
    };
    return data.alerts.map(({ labels, state }) => ({ name: labels['alertname'] ?? '', labels, state }));
  }

  /** The names of the firing alerts, each once. */
  async firing(): Promise<string[]> {
    const alerts = await this.alerts();
    return [...new Set(alerts.filter(({ state }) => state === 'firing').map(({ name }) => name))].toSorted();
  }

  /** The value of an instant query; undefined without a result. */
  async value(query: string): Promise<number | undefined> {
    const [first] = await this.query(query);
    return first?.value;
  }

  /** The result of an instant query, now or at a time in seconds. Throws what Prometheus says against the query. */
  async query(query: string, time?: number): Promise<Sample[]> {
    const parameters = new URLSearchParams({ query, ...(time !== undefined && { time: String(time) }) });
    const answer = (await (await fetch(`${this.#url}/api/v1/query?${parameters.toString()}`)).json()) as QueryAnswer;
    if (answer.status !== 'success') throw new Error(`${answer.errorType}: ${answer.error}\n${query}`);
    // Prometheus has annotations for what is probably a mistake, such as rate() of a gauge.
    const hints = [...(answer.warnings ?? []), ...(answer.infos ?? [])];
    if (hints.length > 0) throw new Error(`${hints.join('\n')}\n${query}`);
    return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }

  #config() {
    const interval = `${SCRAPE_MS}ms`;
    return {
      global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
      rule_files: ['rules/*.yaml'],
      scrape_configs: [{ job_name: 'drill', file_sd_configs: [{ files: ['targets.json'], refresh_interval: '2s' }] }],
    };
  }
}
