// `npm run test:citus`: runs integration tests on a Citus cluster, where one is installed. Parameters are those of vitest.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { findCitus, NOT_CHECKED } from './installation.ts';

/** Fewer than for other tests, because the three servers of the cluster need the CPU that tests leave idle. */
const WORKERS = `--maxWorkers=${availableParallelism()}`;

if (findCitus()) {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'citus*', WORKERS, ...process.argv.slice(2)];
  const child = spawn(process.execPath, vitest, { stdio: 'inherit', env: { ...process.env, TEST_CITUS: '1' } });
  child.once('exit', (status) => {
    process.exitCode = status ?? 1;
  });
} else {
  console.log(NOT_CHECKED);
}
