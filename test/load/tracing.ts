import { OtlpReceiver } from '../network/otlp/receiver.ts';
import type { Replica } from './running.ts';
import { requestsOf, SCENARIOS, type Scenario } from './scenarios.ts';
import { measureAt, median, type Stage } from './stage.ts';

const RATE = 500;
const SCENARIO = 'lookup by game';

/** CPU microseconds of gateway and lookup together per request; medians of all rounds. */
export interface Traced {
  off: number;
  /** While 1 % of the requests are sampled and exported. */
  on: number;
}

interface Pair {
  gateway: Replica;
  lookup: Replica;
}

/** Measures what traces cost: the same requests through a gateway and a lookup without and with them, alternately. */
export async function driveTracing(stage: Stage): Promise<Traced> {
  const collector = new OtlpReceiver();
  await collector.start();
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACING_SAMPLE_RATIO: '0.01' };
  const pairs = { off: await startPair(stage, {}), on: await startPair(stage, settings) };
  const found: Record<keyof Traced, number[]> = { off: [], on: [] };
  try {
    for (let round = 0; round < stage.rounds; round += 1) {
      for (const name of ['off', 'on'] as const) found[name].push(await cpuOf(stage, pairs[name]));
      const [off, on] = [found.off.at(-1), found.on.at(-1)];
      console.log(`round ${round + 1}: ${off?.toFixed(1)} µs without traces, ${on?.toFixed(1)} µs with 1 % sampled`);
    }
    if (collector.spans.length === 0) throw new Error('the collector has received no span');
    return { off: median(found.off), on: median(found.on) };
  } finally {
    for (const { gateway, lookup } of Object.values(pairs)) {
      await gateway.child.stop(5_000);
      await lookup.child.stop(5_000);
    }
    await collector.stop();
  }
}

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
