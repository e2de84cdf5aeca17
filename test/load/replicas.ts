import { pin } from './cpu.ts';
import type { Figures } from './load.ts';
import type { Replica } from './running.ts';
import { requestsOf, SCENARIOS, type Scenario } from './scenarios.ts';
import { MEASURED_CORE, measureAt, median, OTHER_CORE, type Stage } from './stage.ts';

/** The figures of several gateways, each with its own service. */
export interface Replicated {
  replicas: number;
  /** Requests per second of CPU time of gateways, services, PostgreSQL and Redis together; the median. */
  perCore: number;
  /** The median of the ratios to one replica in the same round. */
  ofOne: number;
  /** The figures of the last round. */
  figures: Figures;
}

interface Pair {
  service: Replica;
  gateway: Replica;
}

const COUNTS = [1, 2, 4];
/** The warm-up of each gateway and its service, because a new process spends more CPU on compiling than on requests. */
const WARM_UP_SECONDS = 8;

/**
 * Measures lookups through one, two and four gateways with balanced connections, in interleaved rounds. One machine has
 * too few cores for more throughput, so the throughput per second of CPU time is compared.
 */
export async function driveReplicas(stage: Stage): Promise<Replicated[]> {
  const pairs: Pair[] = [];
  try {
    while (pairs.length < Math.max(...COUNTS)) pairs.push(await startPair(stage));
    for (const pair of pairs) await measure({ ...stage, seconds: WARM_UP_SECONDS }, [pair]);
    const rounds = COUNTS.map(() => [] as Figures[]);
    for (let round = 0; round < stage.rounds; round += 1) {
      for (const [index, count] of COUNTS.entries()) {
        const figures = await measure(stage, pairs.slice(0, count));
        rounds[index]?.push(figures);
        console.log(
          `round ${round + 1}: ${count} gateways: ${requestsPerCpuSecond(figures).toFixed(0)} per CPU second`,
        );
      }
    }
    return rounds.map((runs, index) => summaryOf(COUNTS[index] as number, runs, rounds[0] as Figures[]));
  } finally {
    for (const { gateway, service } of pairs) {
      await gateway.child.stop(5_000);
      await service.child.stop(5_000);
    }
  }
}

async function startPair({ system }: Stage): Promise<Pair> {
  const service = await system.startReplica('lookup');
  const gateway = await system.startReplica('gateway', { LOOKUP_HTTP_URL: `http://127.0.0.1:${service.port}` });
  // Otherwise they inherit the benchmark's own core, and eight processes on one core would measure its caches.
  for (const { child } of [service, gateway]) pin(child.pid, `${MEASURED_CORE},${OTHER_CORE}`);
  return { service, gateway };
}

async function measure(stage: Stage, pairs: readonly Pair[]): Promise<Figures> {
  const scenario = SCENARIOS.find(({ name }) => name === 'lookup by game') as Scenario;
  const { redis = 0, postgres = 0 } = await stage.system.processes();
  const own = pairs.flatMap(({ service, gateway }, index) => [
    [`gateway ${index}`, gateway.child.pid] as const,
    [`lookup ${index}`, service.child.pid] as const,
  ]);
  const processes = { ...Object.fromEntries(own), redis, postgres };
  const requests = requestsOf(scenario, stage.world);
  const target = { host: '127.0.0.1', ports: pairs.map(({ gateway }) => gateway.port), requests };
  return measureAt(stage, target, undefined, { status: scenario.status, processes });
}

function summaryOf(replicas: number, runs: readonly Figures[], ofOne: readonly Figures[]): Replicated {
  const perCore = runs.map(requestsPerCpuSecond);
  const one = ofOne.map(requestsPerCpuSecond);
  const ratios = perCore.map((rate, round) => rate / (one[round] ?? Number.NaN));
  return { replicas, perCore: median(perCore), ofOne: median(ratios), figures: runs.at(-1) as Figures };
}

function requestsPerCpuSecond({ cpu: { generator: _generator, ...system } }: Figures): number {
  return 1e6 / Object.values(system).reduce((sum, microseconds) => sum + microseconds, 0);
}
