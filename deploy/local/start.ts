import { join } from 'node:path';
import { makeDemo } from './demo/demo.ts';
import { DEPLOYABLES } from './processes.ts';
import { runUntilStopped } from './session.ts';

process.exitCode = await runUntilStopped({
  repository: join(import.meta.dirname, '..', '..'),
  deployables: DEPLOYABLES,
  simulators: 'deploy/local/simulators/main.ts',
  makeDemo,
});
process.exit();
