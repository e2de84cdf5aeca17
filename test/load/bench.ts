// How fast the system is, beside programs that do less: `npm run bench`. Everything that it starts and writes is of its
// own and gone afterwards, but for the JSON file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pin } from './cpu.ts';
import { LoadGenerator } from './load.ts';
import { compareGateways } from './compare.ts';
import { driveSystem } from './drive.ts';
import { machine, printComparison, printScenarios, printTargets } from './report.ts';
import { RunningSystem } from './running.ts';
import { SCENARIOS, type World } from './scenarios.ts';
import { MEASURED_CORE, OTHER_CORE } from './stage.ts';
import { addUsers, GUILDS, makeKey, makeKeys } from './world.ts';

const HELP = `usage: npm run bench -- [--seconds N] [--users N] [--rounds N] [--only comparison|scenarios] [--filter REGEXP] [--json FILE]`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '6' },
      users: { type: 'string', default: '200000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      filter: { type: 'string', default: '' },
      json: { type: 'string', default: 'bench.json' },
      help: { type: 'boolean', default: false },
    },
  });
  const [seconds, users, rounds] = [values.seconds, values.users, values.rounds].map(Number) as [
    number,
    number,
    number,
  ];
  if (values.help || !(seconds > 0) || !(users >= GUILDS * 4) || !(rounds >= 1)) {
    console.log(HELP);
    process.exit(values.help ? 0 : 2);
  }
  return { seconds, users, rounds, only: values.only, filter: new RegExp(values.filter), json: values.json };
}

/** Keys, and users to look up. */
async function makeWorld(system: RunningSystem, users: number): Promise<World> {
  console.log(`Filling in ${users} users of ${GUILDS} guilds …`);
  await addUsers(system.databaseUrl, 0, users, console.log);
  const { client, close } = system.admin();
  try {
    const guilds = await makeKeys(client);
    const first = guilds[0]?.id ?? '';
    return {
      guilds,
      users,
      narrowKey: await makeKey(client, first, { scopes: ['lookup:read'], rateLimit: 100_000 }),
      spentKey: await makeKey(client, first, { scopes: ['lookup:read'], rateLimit: 1 }),
    };
  } finally {
    close();
  }
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
    const comparison = options.only === 'scenarios' ? [] : await compareGateways(stage);
    const scenarios = options.only === 'comparison' ? [] : await driveSystem(stage, SCENARIOS);
    console.log(`\n${machine()}`);
    printComparison(comparison);
    printScenarios(scenarios);
    printTargets(comparison, scenarios);
    writeFileSync(options.json, `${JSON.stringify({ machine: machine(), comparison, scenarios }, null, 2)}\n`);
    console.log(`\nAll figures are in ${options.json}`);
  } finally {
    generator.stop();
    await system.stop();
  }
}

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => stop.abort(new Error(`ended by ${name}`)));
const folder = mkdtempSync(join(tmpdir(), 'guild-data-bench-'));
const stopped = new Promise<never>((_, reject) =>
  stop.signal.addEventListener('abort', () => reject(stop.signal.reason)),
);
try {
  await Promise.race([bench(folder, stop.signal), stopped]);
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}
