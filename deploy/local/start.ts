import { join } from 'node:path';
import { localConsole } from './console.ts';
import { makeDemo } from './demo/demo.ts';
import { DEPLOYABLES } from './processes.ts';
import { bundledPrograms } from './programs.ts';
import { runUntilStopped } from './session.ts';

// The arguments of npm itself do not arrive here.
if (process.argv.length > 2) {
  console.error('npm start has no arguments. Environment variables are its settings; README.md lists them.');
  process.exit(2);
}

process.exitCode = await runUntilStopped({
  repository: join(import.meta.dirname, '..', '..'),
  programs: bundledPrograms,
  deployables: DEPLOYABLES,
  simulators: 'deploy/local/simulators/main.ts',
  makeDemo,
  console: localConsole,
});
process.exit();
