import type { Figures } from './load.ts';
import type { Replica } from './running.ts';
import { requestsOf, SCENARIOS, type Scenario } from './scenarios.ts';
import { measureAt, median, type Stage } from './stage.ts';

/** So many gateways, each with a service of its own behind it. */
export interface Replicated {
  replicas: number;
  /** Requests for each second of CPU time that gateways, services and Redis took together. */
  perCore: number;
  figures: Figures;
}

const COUNTS = [1, 2, 4];
/** For each gateway and its service: processes that have just started spend more on compiling than on requests. */
const WARM_UP_SECONDS = 8;

/**
 * Look-ups through one, two and four gateways, over which connections are balanced. One machine has too few cores to
 * show more throughput, so what is compared is throughput for each second of CPU time.
 */
export async function driveReplicas(stage: Stage): Promise<Replicated[]> {
  const results: Replicated[] = [];
  for (const replicas of COUNTS) {
    const pairs: { service: Replica; gateway: Replica }[] = [];
    try {
      while (pairs.length < replicas) pairs.push(await startPair(stage));
      results.push(await measure(stage, pairs));
    } finally {
      for (const { gateway, service } of pairs) {
        await gateway.child.stop(5_000);
        await service.child.stop(5_000);
      }
    }
  }
  return results;
}

async function startPair({ system }: Stage): Promise<{ service: Replica; gateway: Replica }> {
  const service = await system.startReplica('lookup');
  const gateway = await system.startReplica('gateway', { LOOKUP_HTTP_URL: `http://127.0.0.1:${service.port}` });
  return { service, gateway };
}

async function measure(stage: Stage, pairs: readonly { service: Replica; gateway: Replica }[]): Promise<Replicated> {
  const scenario = SCENARIOS.find(({ name }) => name === 'lookup by game') as Scenario;
  const { redis = 0, postgres = 0 } = await stage.system.processes();
  const own = pairs.flatMap(({ service, gateway }, index) => [
    [`gateway ${index}`, gateway.child.pid] as const,
    [`lookup ${index}`, service.child.pid] as const,
  ]);
  const processes = { ...Object.fromEntries(own), redis, postgres };
  const requests = requestsOf(scenario, stage.world);
  const runs: Figures[] = [];
  for (let round = 0; round < stage.rounds; round += 1) {
    const target = { host: '127.0.0.1', ports: pairs.map(({ gateway }) => gateway.port), requests };
    const figures = await measureAt(stage, target, undefined, {
      status: scenario.status,
      processes,
      // The first round alone finds them cold.
      ...(round === 0 && { warmUpSeconds: WARM_UP_SECONDS * pairs.length }),
    });
    runs.push(figures);
  }
  const perCore = median(runs.map(requestsPerCpuSecond));
  console.log(`${pairs.length} gateways: ${perCore.toFixed(0)} requests per CPU second`);
  return { replicas: pairs.length, perCore, figures: runs.at(-1) as Figures };
}

function requestsPerCpuSecond({ cpu: { generator: _generator, ...system } }: Figures): number {
  return 1e6 / Object.values(system).reduce((sum, microseconds) => sum + microseconds, 0);
}
