import { startCollector } from './collector.ts';
import type { Replica } from './running.ts';
import { requestsOf, SCENARIOS, type Scenario } from './scenarios.ts';
import { measureAt, median, quantile, type Stage } from './stage.ts';

/** At saturation, because at a low rate the CPU of a request varies more than traces cost. */
const RATE = undefined;
const SCENARIO = 'lookup by game';
/** Rounds before the measured ones, while Node still compiles what requests run. */
const WARM_UP_ROUNDS = 6;

/** CPU of gateway and lookup together per request. */
export interface Traced {
  /** Microseconds without traces; the median of all rounds. */
  off: number;
  /** What is added, as a share of `off`, while 1 % of the requests are sampled and exported: the median of all rounds. */
  added: number;
  /** The standard error of `added`. */
  error: number;
  /** The difference between the two systems without traces, and between the two with them; medians of all rounds. */
  equals: number[];
}

interface Pair {
  gateway: Replica;
  lookup: Replica;
}

/** Measures the CPU that traces cost: two systems without traces and two with them serve the same requests in turns. */
export async function driveTracing(stage: Stage): Promise<Traced> {
  const collector = await startCollector();
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACING_SAMPLE_RATIO: '0.01' };
  // In turns, so that none of the four is always next to one of its own kind.
  const pairs: Pair[] = [];
  for (const kind of [{}, settings, {}, settings]) pairs.push(await startPair(stage, kind));
  const requests = requestsOf(scenario(), stage.world);
  const rounds: number[][] = [];
  try {
    for (let round = 1 - WARM_UP_ROUNDS; round <= stage.rounds; round += 1) {
      const found: number[] = [];
      for (const index of round % 2 === 0 ? [0, 1, 2, 3] : [3, 2, 1, 0]) {
        found[index] = await cpuOf(stage, pairs[index] as Pair, requests);
      }
      if (round > 0) rounds.push(found);
      const texts = found.map((cpu, index) => `${index % 2 === 0 ? 'without' : 'with traces'} ${cpu.toFixed(1)} µs`);
      console.log(`${round > 0 ? `round ${round}` : 'warm-up'}: ${texts.join(', ')}`);
    }
    if (collector.bytes() === 0) throw new Error('the collector has received no span');
    return resultOf(rounds);
  } finally {
    for (const { gateway, lookup } of pairs) {
      await gateway.child.stop(5_000);
      await lookup.child.stop(5_000);
    }
    await collector.stop();
  }
}

/** The result of rounds of four figures each: without traces, with them, without, with. */
function resultOf(rounds: number[][]): Traced {
  const at = (index: number) => rounds.map((found) => found[index] ?? Number.NaN);
  const [off, on, secondOff, secondOn] = [at(0), at(1), at(2), at(3)];
  const ratios = rounds.map((_, round) => sumOf([on, secondOn], round) / sumOf([off, secondOff], round) - 1);
  const difference = (one: number[], other: number[]) =>
    median(one.map((cpu, round) => cpu / (other[round] ?? Number.NaN))) - 1;
  return {
    off: median([...off, ...secondOff]),
    added: median(ratios),
    error: standardErrorOfMedian(ratios),
    equals: [difference(secondOff, off), difference(secondOn, on)],
  };
}

const sumOf = (columns: readonly number[][], round: number): number =>
  columns.reduce((sum, column) => sum + (column[round] ?? Number.NaN), 0);

/** Estimated from the quartiles of about normally distributed values, so that a few rounds which other programs disturbed do not count. */
function standardErrorOfMedian(values: readonly number[]): number {
  const deviation = (quantile(values, 0.75) - quantile(values, 0.25)) / 1.349;
  return (1.253 * deviation) / Math.sqrt(values.length);
}

async function startPair({ system }: Stage, settings: NodeJS.ProcessEnv): Promise<Pair> {
  const lookup = await system.startReplica('lookup', settings);
  const LOOKUP_HTTP_URL = `http://127.0.0.1:${lookup.port}`;
  return { lookup, gateway: await system.startReplica('gateway', { ...settings, LOOKUP_HTTP_URL }) };
}

const scenario = () => SCENARIOS.find(({ name }) => name === SCENARIO) as Scenario;

async function cpuOf(stage: Stage, { gateway, lookup }: Pair, requests: string[]): Promise<number> {
  const processes = { gateway: gateway.child.pid, lookup: lookup.child.pid };
  const target = { host: '127.0.0.1', ports: [gateway.port], requests };
  const { cpu } = await measureAt(stage, target, RATE, { status: scenario().status, processes });
  return (cpu['gateway'] ?? 0) + (cpu['lookup'] ?? 0);
}
