import { OtlpReceiver } from '../network/otlp/receiver.ts';
import type { Replica } from './running.ts';
import { requestsOf, SCENARIOS, type Scenario } from './scenarios.ts';
import { measureAt, median, type Stage } from './stage.ts';

/** At saturation, because at a low rate the CPU of a request varies more than traces cost. */
const RATE = undefined;
const SCENARIO = 'lookup by game';

/** CPU of gateway and lookup together per request; medians of all rounds. */
export interface Traced {
  /** Microseconds without traces. */
  off: number;
  /** What is added, as a share of `off`, while 1 % of the requests are sampled and exported. */
  added: number;
  /** The same for two other processes without traces: the machine's own error. */
  error: number;
}

interface Pair {
  gateway: Replica;
  lookup: Replica;
}

const KINDS = ['off', 'on', 'same'] as const;

/** Measures what traces cost: the same requests through gateways and lookups without and with them, alternately. */
export async function driveTracing(stage: Stage): Promise<Traced> {
  const collector = new OtlpReceiver();
  await collector.start();
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACING_SAMPLE_RATIO: '0.01' };
  const pairs = {
    off: await startPair(stage, {}),
    on: await startPair(stage, settings),
    same: await startPair(stage, {}),
  };
  const rounds: Record<(typeof KINDS)[number], number>[] = [];
  try {
    for (let round = 1; round <= stage.rounds; round += 1) {
      const found = { off: 0, on: 0, same: 0 };
      for (const kind of orderOf(round)) found[kind] = await cpuOf(stage, pairs[kind]);
      rounds.push(found);
      const { off, on, same } = found;
      console.log(`round ${round}: ${shown(off)} without traces, ${shown(same)} again, ${shown(on)} with 1 % sampled`);
    }
    if (collector.spans.length === 0) throw new Error('the collector has received no span');
    const share = (kind: 'on' | 'same') => median(rounds.map((found) => found[kind] / found.off)) - 1;
    return { off: median(rounds.map(({ off }) => off)), added: share('on'), error: share('same') };
  } finally {
    for (const { gateway, lookup } of Object.values(pairs)) {
      await gateway.child.stop(5_000);
      await lookup.child.stop(5_000);
    }
    await collector.stop();
  }
}

/**
 * The order of a round: each kind is first, second and last equally often. None is measured twice in a row, because the
 * CPU's caches still have the code and data of those processes the second time.
 */
function orderOf(round: number): readonly (typeof KINDS)[number][] {
  const first = round % KINDS.length;
  return [...KINDS.slice(first), ...KINDS.slice(0, first)];
}

const shown = (microseconds: number) => `${microseconds.toFixed(1)} µs`;

async function startPair({ system }: Stage, settings: NodeJS.ProcessEnv): Promise<Pair> {
  const lookup = await system.startReplica('lookup', settings);
  const LOOKUP_HTTP_URL = `http://127.0.0.1:${lookup.port}`;
  return { lookup, gateway: await system.startReplica('gateway', { ...settings, LOOKUP_HTTP_URL }) };
}

async function cpuOf(stage: Stage, { gateway, lookup }: Pair): Promise<number> {
  const { status, ...scenario } = SCENARIOS.find(({ name }) => name === SCENARIO) as Scenario;
  const requests = requestsOf({ ...scenario, status }, stage.world);
  const processes = { gateway: gateway.child.pid, lookup: lookup.child.pid };
  const { cpu } = await measureAt(stage, { host: '127.0.0.1', ports: [gateway.port], requests }, RATE, {
    status,
    processes,
  });
  return (cpu['gateway'] ?? 0) + (cpu['lookup'] ?? 0);
}
