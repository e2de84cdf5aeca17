import { cpus, loadavg, totalmem } from 'node:os';
import { type Compared, GATEWAY, SERVER } from './compare.ts';
import type { Driven } from './drive.ts';
import type { Figures } from './load.ts';
import type { Replicated } from './replicas.ts';
import type { Scraped } from './scrapes.ts';
import { type ServedServers, serverTargets } from './servers.ts';
import { median, nameOfRate, quantile, RATES, type Rate } from './stage.ts';
import { printTable } from './table.ts';
import type { Traced } from './tracing.ts';
import type { Whole } from './whole/drive.ts';
import { wholeTargets } from './whole/report.ts';
import { BARE } from './yardsticks.ts';

const MIB = 2 ** 20;
const fixed = (value: number, digits = 2) => value.toFixed(digits);

/** Describes the machine and the date of the measurement. */
export function machine(): string {
  const gib = Math.round(totalmem() / 2 ** 30);
  const load = loadavg()[0]?.toFixed(1);
  const [model] = cpus();
  return `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${model?.model.trim()}), ${gib} GiB, Node ${process.versions.node}, load average ${load}`;
}

export function printComparison(compared: readonly Compared[]): void {
  if (compared.length === 0) return;
  printTable(
    ['program', 'load', 'requests/s', 'CPU µs', 'quartiles', 'of bare', 'p50 ms', 'p99 ms', 'p99.9 ms', 'Redis µs'],
    compared.map((one) => [
      one.name,
      one.rate,
      fixed(one.figures.perSecond, 0),
      fixed(median(one.rounds), 1),
      [0.25, 0.75].map((share) => fixed(quantile(one.rounds, share), 0)).join(' to '),
      fixed(ratioOf(one, find(compared, BARE, one.rate))),
      ...latencies(one.figures),
      fixed(one.figures.cpu['redis'] ?? 0, 1),
    ]),
  );
}

export function printScenarios(driven: readonly Driven[]): void {
  if (driven.length === 0) return;
  printTable(
    [
      'scenario',
      'load',
      'requests/s',
      'gateway µs',
      'service µs',
      'PostgreSQL µs',
      'Redis µs',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'added p50',
      'added p99',
      'gateway MiB',
    ],
    driven.map(({ name, service, rate, through, direct }) => [
      name,
      rate,
      fixed(through.perSecond, 0),
      ...['gateway', service, 'postgres', 'redis'].map((process, index) =>
        index === 1 && process === 'gateway' ? '' : fixed(through.cpu[process] ?? 0, 0),
      ),
      ...latencies(through),
      direct ? fixed(through.latency.p50 - direct.latency.p50) : '',
      direct ? fixed(through.latency.p99 - direct.latency.p99) : '',
      fixed((through.memory['gateway'] ?? 0) / MIB, 0),
    ]),
  );
}

export function printReplicas(replicated: readonly Replicated[]): void {
  printTable(
    ['gateways and services', 'requests/s', 'requests per CPU second', 'of one'],
    replicated.map(({ replicas, perCore, ofOne, figures }) => [
      String(replicas),
      fixed(figures.perSecond, 0),
      fixed(perCore, 0),
      fixed(ofOne),
    ]),
  );
}

/** The results of all parts of the benchmark; a part that was not measured has none. */
export interface Results {
  comparison: readonly Compared[];
  scenarios: readonly Driven[];
  replicas: readonly Replicated[];
  scrapes: Scraped | undefined;
  servers: ServedServers | undefined;
  tracing: Traced | undefined;
  whole: readonly Whole[];
}

/** Prints the targets that this run has figures for. */
export function printTargets(results: Results): void {
  const { comparison: compared, scenarios: driven, replicas: replicated, scrapes: scraped, tracing: traced } = results;
  const rows: string[][] = [];
  const target = (name: string, value: number, max: number, unit = '') =>
    rows.push([name, `${fixed(value)}${unit}`, `${max}${unit}`, verdictOn(value, max)]);
  // If a request is slower without the gateway, the machine was too busy to measure.
  const added = (where: string, value: number) =>
    target(`added p99 ${where}`, value < 0 ? Number.NaN : value, 3, ' ms');
  if (compared.length > 0) {
    const ratio = (name: string, rate: Rate, of: string) =>
      ratioOf(find(compared, name, nameOfRate(rate)), find(compared, of, nameOfRate(rate)));
    target('gateway CPU per proxied request at saturation, relative to bare', ratio(GATEWAY, undefined, BARE), 0.85);
    target('gateway CPU per proxied request at 1,500/s, relative to bare', ratio(GATEWAY, 1_500, BARE), 1.3);
    for (const code of [401, 429]) {
      const name = `rejected ${code}`;
      target(`${name}, CPU, relative to a bare Node response`, ratio(`${GATEWAY}: ${name}`, undefined, SERVER), 2.5);
    }
    for (const rate of RATES) {
      const p99 = (name: string) => find(compared, name, nameOfRate(rate))?.p99 ?? Number.NaN;
      added(`to a bare server at ${nameOfRate(rate)}`, p99(GATEWAY) - p99(SERVER));
    }
  }
  if (scraped) {
    target('p99 added by scrapes', scraped.during - scraped.without, 5, ' ms');
    console.log(`the longest scrape took ${fixed(scraped.longestScrape)} ms`);
  }
  if (traced) {
    target('CPU added by traces of 1 % of the requests', traced.added, 0.03);
    const [added, error] = [traced.added, traced.error].map((share) => `${fixed(share * 100, 1)} %`);
    console.log(`without traces a request takes ${fixed(traced.off)} µs; traces add ${added}, standard error ${error}`);
  }
  for (const { name, rate, through, direct } of driven) {
    if (name !== 'lookup by game' || !direct) continue;
    added(`to a lookup at ${rate}`, through.latency.p99 - direct.latency.p99);
  }
  for (const { replicas, ofOne } of replicated.slice(1)) {
    target(`throughput per core lost with ${replicas} replicas`, 1 - ofOne, 0.15);
  }
  const others = [...wholeTargets(results.whole), ...serverTargets(results.servers)];
  for (const { name, value, max } of others) target(name, value, Number(fixed(max)));
  printTable(['target', 'measured', 'at most', ''], rows);
}

/** NaN stands for a figure that this run did not measure. */
function verdictOn(value: number, max: number): string {
  if (Number.isNaN(value)) return 'NOT MEASURED';
  return value <= max ? 'met' : 'NOT MET';
}

function find(compared: readonly Compared[], name: string, rate: string): Compared | undefined {
  return compared.find((one) => one.name === name && one.rate === rate);
}

/** The median of the CPU ratios of all rounds, because the machine's speed changes between rounds. */
function ratioOf(one: Compared | undefined, other: Compared | undefined): number {
  if (!one || !other) return Number.NaN;
  return median(one.rounds.map((cpu, round) => cpu / (other.rounds[round] ?? Number.NaN)));
}

const latencies = ({ latency }: Figures) => [latency.p50, latency.p99, latency.p999].map((value) => fixed(value));
