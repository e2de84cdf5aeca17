import { newSpanId, newTraceId, TRACEPARENT_HEADER, traceparentOf } from '#kit/telemetry/tracing/trace-context.ts';
import { startCollector } from './collector.ts';
import type { Replica } from './running.ts';
import { requestsOf, SCENARIOS, type Scenario, withHeader } from './scenarios.ts';
import { measureAt, median, type Stage } from './stage.ts';

/** At saturation, because at a low rate the CPU of a request varies more than traces cost. */
const RATE = undefined;
const SCENARIO = 'lookup by game';
/** One of so many requests is sampled. */
const SAMPLED_EVERY = 100;

/** CPU of gateway and lookup together per request; medians of all rounds. */
export interface Traced {
  /** Microseconds without traces. */
  off: number;
  /** What is added, as a share of `off`, while 1 % of the requests are sampled and exported. */
  added: number;
  /** The same for two other processes without traces: the machine's own error. */
  error: number;
  /** What the sampled 1 % adds, as a share of what unsampled requests take in the same processes. */
  sampling: number;
}

interface Pair {
  gateway: Replica;
  lookup: Replica;
}

const KINDS = ['off', 'unsampled', 'same', 'sampled'] as const;
type Kind = (typeof KINDS)[number];

/**
 * Measures what traces cost: the same requests through gateways and lookups without and with them, in turns. The clients
 * decide which requests are sampled, so that the same processes also serve requests without any sampled one.
 */
export async function driveTracing(stage: Stage): Promise<Traced> {
  const collector = await startCollector();
  const on = await startPair(stage, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    TRACING_SAMPLE_RATIO: '0',
    TRACING_CALLER_SAMPLES_PER_SECOND: '10000',
  });
  const pairs = { off: await startPair(stage, {}), same: await startPair(stage, {}), unsampled: on, sampled: on };
  const requests = {
    off: lookups(stage, 0),
    same: lookups(stage, 0),
    unsampled: lookups(stage, 0),
    sampled: lookups(stage, 1),
  };
  const rounds: Record<Kind, number>[] = [];
  try {
    for (let round = 1; round <= stage.rounds; round += 1) {
      const found = { off: 0, same: 0, unsampled: 0, sampled: 0 };
      for (const kind of orderOf(round)) found[kind] = await cpuOf(stage, pairs[kind], requests[kind]);
      rounds.push(found);
      console.log(`round ${round}: ${KINDS.map((kind) => `${kind} ${found[kind].toFixed(1)} µs`).join(', ')}`);
    }
    if (collector.bytes() === 0) throw new Error('the collector has received no span');
    const share = (kind: Kind, base: Kind) => median(rounds.map((found) => found[kind] / found[base])) - 1;
    return {
      off: median(rounds.map(({ off }) => off)),
      added: share('sampled', 'off'),
      error: share('same', 'off'),
      sampling: share('sampled', 'unsampled'),
    };
  } finally {
    for (const { gateway, lookup } of new Set(Object.values(pairs))) {
      await gateway.child.stop(5_000);
      await lookup.child.stop(5_000);
    }
    await collector.stop();
  }
}

/**
 * The order of a round. The processes with traces never serve two loads in a row, because the CPU's caches still have
 * their code and data the second time; their two loads change places from round to round.
 */
function orderOf(round: number): readonly Kind[] {
  return round % 2 === 0 ? ['off', 'sampled', 'same', 'unsampled'] : ['off', 'unsampled', 'same', 'sampled'];
}

async function startPair({ system }: Stage, settings: NodeJS.ProcessEnv): Promise<Pair> {
  const lookup = await system.startReplica('lookup', settings);
  const LOOKUP_HTTP_URL = `http://127.0.0.1:${lookup.port}`;
  return { lookup, gateway: await system.startReplica('gateway', { ...settings, LOOKUP_HTTP_URL }) };
}

const scenario = () => SCENARIOS.find(({ name }) => name === SCENARIO) as Scenario;

/** Requests with the header traceparent, of which `sampled` in SAMPLED_EVERY are sampled. */
function lookups({ world }: Stage, sampled: number): string[] {
  return requestsOf(scenario(), world).map((request, index) =>
    withHeader(request, TRACEPARENT_HEADER, traceparentOf(newTraceId(), newSpanId(), index % SAMPLED_EVERY < sampled)),
  );
}

async function cpuOf(stage: Stage, { gateway, lookup }: Pair, requests: string[]): Promise<number> {
  const processes = { gateway: gateway.child.pid, lookup: lookup.child.pid };
  const target = { host: '127.0.0.1', ports: [gateway.port], requests };
  const { cpu } = await measureAt(stage, target, RATE, { status: scenario().status, processes });
  return (cpu['gateway'] ?? 0) + (cpu['lookup'] ?? 0);
}
