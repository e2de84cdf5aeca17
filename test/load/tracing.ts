import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pathOf } from '#kit/files.ts';
import { startCollector } from './collector.ts';
import type { Replica } from './running.ts';
import { requestsOf, SCENARIOS, type Scenario } from './scenarios.ts';
import { measureAt, median, type Stage } from './stage.ts';
import type { StateTotals, SwitchTotals } from './tracing-switch.ts';

/** At saturation, because at a low rate the CPU of a request varies more than traces cost. */
const RATE = undefined;
const SCENARIO = 'lookup by game';
/** Pairs of a gateway and a lookup service, one after the other: what traces cost differs between processes with equal code. */
const PAIRS = 6;
/** Rounds of each pair before the measured ones, while Node still compiles what requests run. */
const WARM_UP_ROUNDS = 3;
/**
 * How long tracing stays on or off, in milliseconds: shorter than most disturbances by other programs, and long for a request,
 * which takes about 10. The time is random within these limits, because a job that a process runs every second would otherwise
 * always fall into the same state. Spans are exported every few seconds, as by default, so that exports fall into both states:
 * what they cost is not measured here.
 */
const STATE_MS = { min: 50, max: 150 };
/** The schedule of a pair is longer than its measurement, in milliseconds. */
const SCHEDULE_MS = 3_600_000;

/** CPU of gateway and lookup together per request. */
export interface Traced {
  /** Microseconds without traces; the mean of all pairs. */
  off: number;
  /** What is added, as a share of `off`, while 1 % of the requests are sampled, without exporting their spans: the mean of all pairs. */
  added: number;
  /** The standard error of `added`, from the differences between the pairs. */
  error: number;
}

/** What one pair of processes took without traces, in microseconds per request, and what traces added, as a share of it. */
type Pair = Pick<Traced, 'off' | 'added'>;

/** A process that turns its tracing on and off, and the JSON file to which it writes its CPU time and the number of its requests. */
interface Switching {
  replica: Replica;
  file: string;
}

/** Measures the CPU that tracing adds: under load, tracing is turned on and off for new requests, ten times a second. */
export async function driveTracing(stage: Stage): Promise<Traced> {
  const collector = await startCollector();
  const settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    TRACING_SAMPLE_RATIO: '0.01',
  };
  const pairs: Pair[] = [];
  try {
    for (let pair = 1; pair <= PAIRS; pair += 1) {
      pairs.push(await measurePair(stage, settings, pair));
    }
    if (collector.bytes() === 0) throw new Error('the collector has received no span');
  } finally {
    await collector.stop();
  }
  const added = pairs.map((pair) => pair.added);
  return { off: mean(pairs.map(({ off }) => off)), added: mean(added), error: standardError(added) };
}

/** Starts a gateway and a lookup service, and measures them in all rounds. The medians count, because other programs disturb rounds. */
async function measurePair(stage: Stage, settings: NodeJS.ProcessEnv, pair: number): Promise<Pair> {
  const BENCH_TRACING_SWITCHES = join(stage.folder, 'switches of tracing.json');
  writeFileSync(BENCH_TRACING_SWITCHES, JSON.stringify(switchTimes()));
  const switching = { ...settings, BENCH_TRACING_SWITCHES };
  const lookup = await startSwitching(stage, 'lookup', switching);
  const LOOKUP_HTTP_URL = `http://127.0.0.1:${lookup.replica.port}`;
  const gateway = await startSwitching(stage, 'gateway', { ...switching, LOOKUP_HTTP_URL });
  const rounds: Record<'on' | 'off', number>[] = [];
  try {
    for (let round = 1 - WARM_UP_ROUNDS; round <= stage.rounds; round += 1) {
      const found = await measureRound(stage, gateway, lookup);
      if (round > 0) rounds.push(found);
    }
  } finally {
    for (const { replica } of [gateway, lookup]) await replica.child.stop(5_000);
  }
  const off = median(rounds.map((round) => round.off));
  const added = median(rounds.map((round) => round.on / round.off - 1));
  console.log(`pair ${pair}: without ${off.toFixed(1)} µs, traces add ${(added * 100).toFixed(1)} %`);
  return { off, added };
}

/** Returns when tracing is turned off or on, in Unix milliseconds. */
function switchTimes(): number[] {
  const times: number[] = [];
  const now = Date.now();
  for (let time = now; time < now + SCHEDULE_MS; time += STATE_MS.min + Math.random() * (STATE_MS.max - STATE_MS.min)) {
    times.push(time);
  }
  return times;
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

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function standardError(values: readonly number[]): number {
  const average = mean(values);
  const squares = values.map((value) => (value - average) ** 2);
  return Math.sqrt(mean(squares) / (values.length - 1));
}
