import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Tests start hundreds of processes, most of whose time until they are ready is that of their code being compiled.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compile');

// What must be over sooner is asserted where it is. A busy machine takes thrice as long as a quiet one.
const PATIENCE_MS = 60_000;

// What is waited for may take long on a machine that is busy or stands still for a moment, which proves nothing.
// Whoever guarantees it sooner says so with a timeout or a bound of its own.
const waiting = { poll: { timeout: 30_000 } } as const;

const integration = {
  globalSetup: './test/integration.setup.ts',
  pool: 'forks',
  testTimeout: PATIENCE_MS,
  hookTimeout: 60_000,
  expect: waiting,
} as const;

export default defineConfig({
  test: {
    // The summary comes last: what follows it would hide the one line that other programs read.
    reporters: ['default', './test/reporter.ts'],
    // Integration tests wait for other processes more than they compute.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{services,gateway,proto,deploy,test}/**/*.unit.test.ts'],
          pool: 'threads',
          isolate: false,
          testTimeout: PATIENCE_MS,
          expect: waiting,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{services,gateway,deploy,test}/**/*.test.ts'],
          exclude: ['**/*.unit.test.ts', '**/*.helm.test.ts', '**/node_modules/**'],
          ...integration,
        },
      },
      {
        // `npm run test:chart`: what needs Helm, in LAB_BIN or on the path.
        test: { name: 'chart', include: ['test/chart/**/*.helm.test.ts'], testTimeout: PATIENCE_MS, expect: waiting },
      },
      {
        // `npm run test:long`: the bounds in time themselves, one file after the other.
        test: {
          ...integration,
          name: 'long',
          include: ['{services,gateway,deploy,test}/**/*.long.test.ts'],
          env: { TEST_LONG: '1' },
          fileParallelism: false,
          testTimeout: 600_000,
        },
      },
    ],
  },
});
