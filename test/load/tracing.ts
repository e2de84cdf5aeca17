import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pathOf } from '#kit/files.ts';
import { startCollector } from './collector.ts';
import type { Replica } from './running.ts';
import { requestsOf, SCENARIOS, type Scenario } from './scenarios.ts';
import { measureAt, median, quantile, type Stage } from './stage.ts';
import type { StateTotals, SwitchTotals } from './tracing-switch.ts';

/** At saturation, because at a low rate the CPU of a request varies more than traces cost. */
const RATE = undefined;
const SCENARIO = 'lookup by game';
/** Rounds before the measured ones, while Node still compiles what requests run. */
const WARM_UP_ROUNDS = 6;
/** Spans are sent soon after they were recorded, mostly while tracing is still on: 25 times as often as by default, which costs more. */
const EXPORT_EVERY_MS = 200;

/** CPU of gateway and lookup together per request. */
export interface Traced {
  /** Microseconds without traces; the median of all rounds. */
  off: number;
  /** What is added, as a share of `off`, while 1 % of the requests are sampled and exported: the median of all rounds. */
  added: number;
  /** The standard error of `added`. */
  error: number;
}

/** A process that turns its tracing on and off, and the JSON file to which it writes its CPU time and the number of its requests. */
interface Switching {
  replica: Replica;
  file: string;
}

/** Measures the CPU that tracing adds: under load, tracing is turned on and off for new requests, about twice a second. */
export async function driveTracing(stage: Stage): Promise<Traced> {
  const collector = await startCollector();
  const settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: String(EXPORT_EVERY_MS),
    TRACING_SAMPLE_RATIO: '0.01',
  };
  const lookup = await startSwitching(stage, 'lookup', settings);
  const LOOKUP_HTTP_URL = `http://127.0.0.1:${lookup.replica.port}`;
  const gateway = await startSwitching(stage, 'gateway', { ...settings, LOOKUP_HTTP_URL });
  const rounds: Record<'on' | 'off', number>[] = [];
  try {
    for (let round = 1 - WARM_UP_ROUNDS; round <= stage.rounds; round += 1) {
      const found = await measureRound(stage, gateway, lookup);
      if (round > 0) rounds.push(found);
      const name = round > 0 ? `round ${round}` : 'warm-up';
      console.log(`${name}: without ${found.off.toFixed(1)} µs, with traces ${found.on.toFixed(1)} µs`);
    }
    if (collector.bytes() === 0) throw new Error('the collector has received no span');
  } finally {
    for (const { replica } of [gateway, lookup]) await replica.child.stop(5_000);
    await collector.stop();
  }
  const ratios = rounds.map(({ on, off }) => on / off - 1);
  return { off: median(rounds.map(({ off }) => off)), added: median(ratios), error: standardErrorOfMedian(ratios) };
}

async function startSwitching(
  { system, folder }: Stage,
  name: string,
  settings: NodeJS.ProcessEnv,
): Promise<Switching> {
  const file = join(folder, `traces of ${name}.json`);
  const { href } = pathToFileURL(pathOf('test/load/tracing-switch.ts'));
  const environment = { ...settings, BENCH_TRACING_FILE: file, NODE_OPTIONS: `--import=${href}` };
  return { replica: await system.startReplica(name, environment), file };
}

/** Serves the load for one round; returns the CPU per request in each state. */
async function measureRound(
  stage: Stage,
  gateway: Switching,
  lookup: Switching,
): Promise<Record<'on' | 'off', number>> {
  const before = [totalsOf(gateway), totalsOf(lookup)];
  const requests = requestsOf(scenario(), stage.world);
  const target = { host: '127.0.0.1', ports: [gateway.replica.port], requests };
  await measureAt(stage, target, RATE, { status: scenario().status, processes: {}, warmUpSeconds: 0 });
  const after = [totalsOf(gateway), totalsOf(lookup)];
  const costOf = (state: keyof SwitchTotals) =>
    after.reduce((sum, totals, index) => sum + perRequest(totals[state], before[index]?.[state]), 0);
  return { on: costOf('on'), off: costOf('off') };
}

const scenario = () => SCENARIOS.find(({ name }) => name === SCENARIO) as Scenario;

const perRequest = (to: StateTotals, from: StateTotals = { cpu: 0, requests: 0 }) =>
  (to.cpu - from.cpu) / (to.requests - from.requests);

/** Reads the CPU time and the number of requests that a process has written; zeros before it has written any. */
function totalsOf({ file }: Switching): SwitchTotals {
  if (!existsSync(file)) return { on: { cpu: 0, requests: 0 }, off: { cpu: 0, requests: 0 } };
  return JSON.parse(readFileSync(file, 'utf8')) as SwitchTotals;
}

/** Estimated from the quartiles of about normally distributed values, so that a few rounds which other programs disturbed do not count. */
function standardErrorOfMedian(values: readonly number[]): number {
  const deviation = (quantile(values, 0.75) - quantile(values, 0.25)) / 1.349;
  return (1.253 * deviation) / Math.sqrt(values.length);
}
