import { join } from 'node:path';
import { pin } from '../cpu.ts';
import { requestsOf, SCENARIOS, type Scenario } from '../scenarios.ts';
import { MEASURED_CORE, measureAt, OTHER_CORE, type Stage, UnexpectedStatus } from '../stage.ts';
import { checkOut } from './earlier.ts';
import { type Subject, startVersion } from './subjects.ts';
import { startYardsticks } from './yardsticks.ts';

/** CPU microseconds of a request, by what the processes do. */
export type Cpu = Record<keyof Subject['processes'], number>;

/** The figures of one program in one scenario: one entry for each round. */
export interface Whole {
  scenario: string;
  name: string;
  kind: Subject['kind'];
  rounds: Cpu[];
  perSecond: number[];
}

export interface WholeOptions extends Stage {
  /** A git revision of this repository that is measured in the same rounds. */
  against: string | undefined;
}

/**
 * Few enough that every game server sends a heartbeat in each warm-up, so that all are live while they are measured.
 */
const HEARTBEAT_VARIETY = 2_000;
/** A heartbeat waits up to 25 ms for others, so that 32 connections would leave all processes idle most of the time. */
const HEARTBEAT_CONNECTIONS = 256;
const WARM_UP_SECONDS = 5;
const SETTLE_SECONDS = 2;

/**
 * Measures the CPU of a request in all processes together at saturation, of this version, of an earlier one, and of
 * programs that do the same job. Rounds are interleaved, and every program is warm before the first.
 */
export async function driveWhole(options: WholeOptions): Promise<Whole[]> {
  const { filter } = options;
  const subjects: Subject[] = [];
  try {
    subjects.push(await startVersion(options, { name: 'this version', kind: 'this version' }));
    if (options.against !== undefined) subjects.push(await startEarlier(options, options.against));
    for (const started of await startYardsticks(options.folder, options.system, options.world)) {
      if ('missing' in started) console.log(`NOT CHECKED: ${started.name}: ${started.missing}`);
      else subjects.push(started);
    }
    for (const { processes } of subjects) {
      for (const pid of Object.values(processes).flat()) pin(pid, `${MEASURED_CORE},${OTHER_CORE}`);
    }
    return await runRounds(
      options,
      subjects.filter(({ name }) => filter.test(name)),
    );
  } finally {
    for (const subject of subjects) await subject.stop();
  }
}

function startEarlier(options: WholeOptions, revision: string): Promise<Subject> {
  const source = join(options.folder, 'earlier');
  checkOut(revision, source);
  return startVersion(options, { name: revision, kind: 'earlier version' }, source);
}

/** Heartbeats come last: their game servers are ended afterwards, which is work for PostgreSQL while others are measured. */
const NAMES = ['lookup by game', 'status of 25', 'heartbeat'];

/** `connections` is the number of connections that send requests, where it is not the usual one. */
type WholeScenario = Scenario & { connections?: number };

function scenarios(): WholeScenario[] {
  return NAMES.map((name) => {
    const scenario = SCENARIOS.find((candidate) => candidate.name === name) as Scenario;
    if (name !== 'heartbeat') return scenario;
    return { ...scenario, variety: HEARTBEAT_VARIETY, connections: HEARTBEAT_CONNECTIONS };
  });
}

/** The requests of a scenario, and how they are sent. */
interface ScenarioLoad {
  requests: string[];
  /** The HTTP status that every response must have. */
  status: number;
  connections: number | undefined;
}

async function runRounds(stage: WholeOptions, subjects: readonly Subject[]): Promise<Whole[]> {
  const results: Whole[] = [];
  for (const scenario of scenarios()) {
    const { status, connections } = scenario;
    const load = { requests: requestsOf(scenario, stage.world), status, connections };
    const runs = subjects.map((subject) => {
      const { name, kind } = subject;
      const result: Whole = { scenario: scenario.name, name, kind, rounds: [], perSecond: [] };
      return { subject, result };
    });
    results.push(...runs.map(({ result }) => result));
    for (const { subject } of runs) await warmUp(stage, subject, load);
    for (let round = 1; round <= stage.rounds; round++) {
      // The order changes, because a machine becomes slower or faster during a round.
      for (const { subject, result } of round % 2 === 0 ? runs.toReversed() : runs) {
        const { cpu, perSecond } = await measure(stage, subject, load);
        result.rounds.push(cpu);
        result.perSecond.push(perSecond);
        console.log(`round ${round}, ${scenario.name}, ${subject.name}: ${totalOf(cpu).toFixed(0)} µs`);
      }
    }
  }
  return results;
}

/** The first requests to a cold process may time out on a busy machine. */
async function warmUp(stage: Stage, subject: Subject, load: ScenarioLoad): Promise<void> {
  try {
    await measure({ ...stage, seconds: WARM_UP_SECONDS }, subject, load);
  } catch (error) {
    if (!(error instanceof UnexpectedStatus)) throw error;
    console.log(`while ${subject.name} warmed up: ${error.message}`);
  }
}

async function measure(stage: Stage, { port, processes }: Subject, { requests, ...load }: ScenarioLoad) {
  const groups = Object.entries(processes);
  const all = Object.fromEntries(
    groups.flatMap(([group, pids]) => pids.map((pid, index) => [`${group} ${index}`, pid])),
  );
  const target = { host: '127.0.0.1', ports: [port], requests };
  const figures = await measureAt(stage, target, undefined, { ...load, processes: all, warmUpSeconds: SETTLE_SECONDS });
  const sum = (group: string, { length }: number[]) =>
    Array.from({ length }, (_, index) => figures.cpu[`${group} ${index}`] ?? 0).reduce((total, one) => total + one, 0);
  const cpu = Object.fromEntries(groups.map(([group, pids]) => [group, sum(group, pids)])) as Cpu;
  return { cpu, perSecond: figures.perSecond };
}

export const totalOf = (cpu: Cpu): number => Object.values(cpu).reduce((sum, part) => sum + part, 0);
