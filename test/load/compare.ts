import { pin } from './cpu.ts';
import type { Figures } from './load.ts';
import { requestsOf, SCENARIOS, type Scenario } from './scenarios.ts';
import { MEASURED_CORE, measureAt, median, nameOfRate, OTHER_CORE, RATES, type Rate, type Stage } from './stage.ts';
import { BARE, startProxies, startServer, type Yardstick } from './yardsticks.ts';

/** The figures of one program under one load. */
export interface Compared {
  name: string;
  rate: string;
  /** CPU microseconds per request of the program itself in each round. */
  rounds: number[];
  /** Milliseconds; the median of all rounds. */
  p99: number;
  /** The figures of the last round. */
  figures: Figures;
}

interface Subject {
  name: string;
  pid: number;
  port: number;
  requests: string[];
  status: number;
  rates: readonly Rate[];
}

/** Names of programs in the tables. */
export const GATEWAY = 'gateway';
export const SERVER = 'Node server';
/** The warm-up of each program before the first round. */
const WARM_UP_SECONDS = 6;
/** The pause before each measurement, in which connections are opened and the previous program becomes idle. */
const SETTLE_SECONDS = 0.4;

/**
 * Compares the gateway, with all its checks and limits, with programs that do less. All forward the same requests to the
 * same bare server, one at a time on the measured core. Rounds are interleaved, so that a change of the machine's speed
 * affects all programs.
 */
export async function compareGateways(stage: Stage): Promise<Compared[]> {
  const server = await startServer();
  const upstream = `127.0.0.1:${server.port}`;
  const policy = {
    keys: stage.world.guilds.map(({ key }) => key),
    redis: new URL(stage.system.up.redis ?? ''),
  };
  const proxies = await startProxies(stage.folder, upstream, policy);
  const gateway = await stage.system.startReplica('gateway', { LOOKUP_HTTP_URL: `http://${upstream}` });
  try {
    pin(server.child.pid, OTHER_CORE);
    for (const { child } of [...proxies, gateway]) pin(child.pid, MEASURED_CORE);
    const subjects = subjectsOf(stage, server, proxies, { pid: gateway.child.pid, port: gateway.port });
    const wanted = subjects.filter(({ name }) => stage.filter.test(name));
    await warmUp(stage, wanted);
    return await runRounds(stage, wanted, server);
  } finally {
    for (const { child } of [...proxies, gateway, server]) await child.stop(5_000);
  }
}

function subjectsOf(
  { world }: Stage,
  server: Yardstick,
  proxies: readonly Yardstick[],
  gateway: { pid: number; port: number },
): Subject[] {
  const scenario = (name: string) => SCENARIOS.find((candidate) => candidate.name === name) as Scenario;
  const lookup = requestsOf(scenario('lookup by game'), world);
  const subjects: Subject[] = [server, ...proxies].map(({ name, child, port }) => ({
    name,
    pid: child.pid,
    port,
    requests: lookup,
    status: 200,
    rates: name === BARE || name === SERVER ? [undefined, ...RATES] : [undefined],
  }));
  for (const name of ['whoami', 'rejected 401', 'rejected 403', 'rejected 429']) {
    const { status } = scenario(name);
    const requests = requestsOf(scenario(name), world);
    subjects.push({ ...gateway, name: `${GATEWAY}: ${name}`, requests, status, rates: [undefined] });
  }
  subjects.push({ ...gateway, name: GATEWAY, requests: lookup, status: 200, rates: [undefined, ...RATES] });
  return subjects;
}

/** V8 needs some seconds of load to compile the code, and longer for larger programs. */
async function warmUp(stage: Stage, subjects: readonly Subject[]): Promise<void> {
  for (const subject of subjects) {
    console.log(`Warming up: ${subject.name} …`);
    await measure({ ...stage, seconds: WARM_UP_SECONDS }, subject, undefined, {});
  }
}

async function runRounds(stage: Stage, subjects: readonly Subject[], server: Yardstick): Promise<Compared[]> {
  const { redis = 0 } = await stage.system.processes();
  const results = new Map<string, { subject: Subject; rate: Rate; runs: Figures[] }>();
  for (let round = 1; round <= stage.rounds; round += 1) {
    for (const subject of subjects) {
      // The server is also the upstream, so it is moved to the measured core only while it is measured itself.
      if (subject.pid === server.child.pid) pin(server.child.pid, MEASURED_CORE);
      for (const rate of subject.rates) {
        const figures = await measure(stage, subject, rate, { [subject.name]: subject.pid, redis });
        const key = `${subject.name} ${rate}`;
        const result = results.get(key) ?? { subject, rate, runs: [] };
        results.set(key, result);
        result.runs.push(figures);
        console.log(`round ${round}: ${subject.name}, ${nameOfRate(rate)}: ${cpuOf(subject, figures).toFixed(1)} µs`);
      }
      if (subject.pid === server.child.pid) pin(server.child.pid, OTHER_CORE);
    }
  }
  return [...results.values()].map(({ subject, rate, runs }) => {
    const rounds = runs.map((figures) => cpuOf(subject, figures));
    const figures = runs.at(-1) as Figures;
    const p99 = median(runs.map(({ latency }) => latency.p99));
    return { name: subject.name, rate: nameOfRate(rate), rounds, p99, figures };
  });
}

const measure = (stage: Stage, { port, requests, status }: Subject, rate: Rate, processes: Record<string, number>) =>
  measureAt(stage, { host: '127.0.0.1', ports: [port], requests, isAwake: true }, rate, {
    status,
    processes,
    warmUpSeconds: SETTLE_SECONDS,
  });

const cpuOf = ({ name }: Subject, { cpu }: Figures): number => cpu[name] ?? Number.NaN;
