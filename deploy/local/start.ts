import { join } from 'node:path';
import { localConsole } from './console.ts';
import { makeDemo } from './demo/demo.ts';
import { DEPLOYABLES } from './processes.ts';
import { bundledPrograms } from './programs.ts';
import { runUntilStopped } from './session.ts';

process.exitCode = await runUntilStopped({
  repository: join(import.meta.dirname, '..', '..'),
  programs: bundledPrograms,
  deployables: DEPLOYABLES,
  simulators: 'deploy/local/simulators/main.ts',
  makeDemo,
  console: localConsole,
});
process.exit();
