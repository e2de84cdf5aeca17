// Measures the system and compares it with programs that do less: `npm run bench`. All that it starts and writes is
// removed afterwards, except the JSON file.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { drawLatency, seriesOf } from './chart.ts';
import { compareGateways } from './compare.ts';
import { pin } from './cpu.ts';
import { driveSystem } from './drive.ts';
import { inTemporaryFolder } from './folder.ts';
import { LoadGenerator } from './load.ts';
import { driveReplicas } from './replicas.ts';
import { machine, printComparison, printReplicas, printScenarios, printTargets } from './report.ts';
import { RunningSystem } from './running.ts';
import { SCENARIOS } from './scenarios.ts';
import { driveScrapes } from './scrapes.ts';
import { driveServers } from './servers.ts';
import { MEASURED_CORE, OTHER_CORE } from './stage.ts';
import { driveTracing } from './tracing.ts';
import { driveWhole } from './whole/drive.ts';
import { printWhole } from './whole/report.ts';
import { GUILDS, makeWorld } from './world.ts';

/** The scenario whose latency the picture shows. */
const PICTURED = 'lookup by game';

/** Every guild needs users of its own. */
const MIN_USERS = GUILDS * 4;

const HELP = `usage: npm run bench -- [--seconds N] [--users N] [--rounds N] [--only comparison|scenarios|replicas|scrapes|servers|tracing|whole] [--against REVISION] [--filter REGEXP] [--json FILE] [--picture FILE]
--users must be at least ${MIN_USERS}`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '6' },
      users: { type: 'string', default: '200000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      against: { type: 'string' },
      filter: { type: 'string', default: '' },
      json: { type: 'string', default: 'bench.json' },
      picture: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const [seconds, users, rounds] = [values.seconds, values.users, values.rounds].map(Number) as [
    number,
    number,
    number,
  ];
  if (values.help || !(seconds > 0) || !(users >= MIN_USERS) || !(rounds >= 1)) {
    console.log(HELP);
    process.exit(values.help ? 0 : 2);
  }
  return {
    seconds,
    users,
    rounds,
    only: values.only,
    against: values.against,
    filter: new RegExp(values.filter),
    json: values.json,
    picture: values.picture,
  };
}

async function bench(folder: string, signal: AbortSignal): Promise<void> {
  const options = readOptions();
  const system = new RunningSystem(folder);
  const generator = new LoadGenerator(OTHER_CORE);
  try {
    console.log('Starting the system …');
    await system.start(signal);
    const world = await makeWorld(system, options.users);
    pin(process.pid, OTHER_CORE);
    pin((await system.processes())['gateway'] ?? 0, MEASURED_CORE);
    const stage = { folder, system, world, generator, ...options };
    const wants = (part: string) => options.only === undefined || options.only === part;
    const comparison = wants('comparison') ? await compareGateways(stage) : [];
    const scenarios = wants('scenarios') ? await driveSystem(stage, SCENARIOS) : [];
    const replicas = wants('replicas') ? await driveReplicas(stage) : [];
    const scrapes = wants('scrapes') ? await driveScrapes(stage) : undefined;
    const tracing = wants('tracing') ? await driveTracing(stage) : undefined;
    const whole = wants('whole') ? await driveWhole(stage) : [];
    const servers = wants('servers') ? await driveServers(stage) : undefined;
    const results = { comparison, scenarios, replicas, scrapes, servers, tracing, whole };
    console.log(`\n${machine()}`);
    printComparison(comparison);
    printScenarios(scenarios);
    printReplicas(replicas);
    printWhole(whole);
    printTargets(results);
    writeFileSync(options.json, `${JSON.stringify({ machine: machine(), ...results }, null, 2)}\n`);
    if (options.picture) writeFileSync(options.picture, drawLatency(machine(), seriesOf(scenarios, PICTURED)));
    console.log(`\nAll figures are in ${options.json}`);
  } finally {
    generator.stop();
    await system.stop();
  }
}

await inTemporaryFolder(bench);
