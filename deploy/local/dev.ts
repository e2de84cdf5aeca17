import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildApp } from '#services/console/build.ts';
import { localConsole } from './console.ts';
import { makeDemo } from './demo/demo.ts';
import { Development } from './development.ts';
import { DEPLOYABLES } from './processes.ts';
import { sourcePrograms } from './programs.ts';
import { runUntilStopped } from './session.ts';

const repository = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({ options: { inspect: { type: 'boolean', default: false } } });

process.exitCode = await runUntilStopped({
  repository,
  programs: sourcePrograms(repository, buildApp),
  deployables: DEPLOYABLES,
  simulators: 'deploy/local/simulators/main.ts',
  makeDemo,
  console: localConsole,
  createDevelopment: (dataFolder) =>
    new Development({ repository, dataFolder, inspect: values.inspect, report: console.log }),
});
process.exit();
