// Measures whether latency stays the same as data grows: `npm run bench:scale`. There are three sizes of links, bans and
// log rows. It prints the latency of each scenario at each size, and the plan of every statement at the largest.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pin } from './cpu.ts';
import { driveThrough, warmKeys } from './drive.ts';
import { inTemporaryFolder } from './folder.ts';
import { type Figures, LoadGenerator } from './load.ts';
import { logPlans, PLAN_SETTINGS, type Planned, plansIn } from './plans.ts';
import { probe } from './probes.ts';
import { machine } from './report.ts';
import { RunningSystem } from './running.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { median, OTHER_CORE, type Stage } from './stage.ts';
import { printTable } from './table.ts';
import { addUsers, makeWorld } from './world.ts';

const SIZES = '10000,1000000,10000000';
const NAMES = /^(lookup|status|ban status|heartbeat|poll)/;
const RATE = 200;
/** The rounds at each size. Their median counts, so that a first round with cold caches does not. */
const ROUNDS = 3;
/** The highest allowed ratio of a lookup's latency at the largest size to that at the smallest. */
const MAX_GROWTH = 1.2;

interface Row {
  scenario: Scenario;
  /** Milliseconds, one for each size. */
  p50: number[];
  p99: number[];
}

function readOptions() {
  const { values } = parseArgs({
    options: { sizes: { type: 'string', default: SIZES }, seconds: { type: 'string', default: '10' } },
  });
  const sizes = values.sizes.split(',').map(Number);
  const isGrowing = sizes.every((size, index) => size > (sizes[index - 1] ?? 0));
  if (!isGrowing || !(Number(values.seconds) > 0)) {
    throw new Error(`usage: npm run bench:scale -- [--sizes ${SIZES}] [--seconds N]`);
  }
  return { sizes, seconds: Number(values.seconds) };
}

/** Measures the latencies of all scenarios at the current size. */
async function measure(stage: Stage, rows: readonly Row[]): Promise<void> {
  await warmKeys(stage);
  const runs = new Map<Row, Figures['latency'][]>(rows.map((row) => [row, []]));
  for (let round = 1; round <= stage.rounds; round++) {
    for (const [row, latencies] of runs) {
      const { latency } = await driveThrough(stage, row.scenario, RATE);
      console.log(`${stage.world.users} rows, round ${round}: ${row.scenario.name}: p50 ${latency.p50.toFixed(2)} ms`);
      latencies.push(latency);
    }
  }
  for (const [row, latencies] of runs) {
    row.p50.push(median(latencies.map(({ p50 }) => p50)));
    row.p99.push(median(latencies.map(({ p99 }) => p99)));
  }
}

function printGrowth(sizes: readonly number[], rows: readonly Row[]): void {
  const head = sizes.flatMap((size) => [`p50 at ${size}`, `p99 at ${size}`]);
  const growth = ({ p50 }: Row) => (p50.at(-1) ?? 0) / (p50[0] ?? 1);
  printTable(
    ['scenario, ms', ...head, 'growth of p50'],
    rows.map((row) => [
      row.scenario.name,
      ...row.p50.flatMap((p50, index) => [p50, row.p99[index] ?? 0]).map((value) => value.toFixed(2)),
      growth(row).toFixed(2),
    ]),
  );
  for (const row of rows.filter(({ scenario }) => scenario.name.startsWith('lookup'))) {
    console.log(`${row.scenario.name}: ${growth(row) <= MAX_GROWTH ? 'within' : 'OVER'} ${MAX_GROWTH} times`);
  }
}

function printPlans(plans: readonly Planned[]): void {
  const sorted = plans.toSorted((a, b) => a.statement.localeCompare(b.statement));
  printTable(
    ['statement', 'reads'],
    sorted.map(({ statement, scans }) => [statement.slice(0, 110).replaceAll('|', '\\|'), scans.join(', ')]),
  );
  const whole = plans.filter((plan) => plan.whole.length > 0);
  console.log(`\n${plans.length} plans, ${whole.length} of which read a large table whole`);
  for (const { statement, whole: tables } of whole) console.log(`WHOLE ${tables.join(', ')}: ${statement}`);
}

async function scale(folder: string, signal: AbortSignal): Promise<void> {
  const { sizes, seconds } = readOptions();
  const system = new RunningSystem(folder, PLAN_SETTINGS);
  const generator = new LoadGenerator(OTHER_CORE);
  const rows = SCENARIOS.filter(({ name }) => NAMES.test(name)).map(
    (scenario): Row => ({ scenario, p50: [], p99: [] }),
  );
  try {
    await system.start(signal);
    const world = await makeWorld(system, sizes[0] ?? 0);
    pin(process.pid, OTHER_CORE);
    for (const [index, users] of sizes.entries()) {
      signal.throwIfAborted();
      if (index > 0) await addUsers(system.databaseUrl, sizes[index - 1] ?? 0, users, console.log);
      const stage = { folder, system, generator, seconds, rounds: ROUNDS, filter: NAMES, world: { ...world, users } };
      await measure(stage, rows);
    }
    await logPlans(system.databaseUrl, true);
    await probe(system.up.gateway, world, sizes.at(-1) ?? 0);
    await logPlans(system.databaseUrl, false);
    console.log(`\n${machine()}, ${RATE} requests a second`);
    printGrowth(sizes, rows);
    printPlans(await plansIn(system.databaseUrl, join(folder, 'postgres/postgres.log')));
  } finally {
    generator.stop();
    await system.stop();
  }
}

await inTemporaryFolder(scale);
