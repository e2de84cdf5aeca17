import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeDemo } from './demo/demo.ts';
import { Development } from './development.ts';
import { DEPLOYABLES } from './processes.ts';
import { runUntilStopped } from './session.ts';

const repository = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({ options: { inspect: { type: 'boolean', default: false } } });

process.exitCode = await runUntilStopped({
  repository,
  deployables: DEPLOYABLES,
  simulators: 'deploy/local/simulators/main.ts',
  makeDemo,
  createDevelopment: (dataFolder) =>
    new Development({ repository, dataFolder, inspect: values.inspect, report: console.log }),
});
process.exit();
