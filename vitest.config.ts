import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { PATIENCE } from './test/patience.ts';

// Tests start hundreds of processes, which compile for most of the time until they are ready. Emptied by `npm ci`.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compile');

// What must be over sooner is asserted where it is. A busy machine takes thrice as long as a quiet one.
const TEST_MS = 60_000;

const integration = {
  globalSetup: './test/integration.setup.ts',
  pool: 'forks',
  testTimeout: TEST_MS,
  hookTimeout: 60_000,
  expect: { poll: PATIENCE },
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
          testTimeout: TEST_MS,
          expect: { poll: PATIENCE },
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
        test: {
          name: 'chart',
          include: ['test/chart/**/*.helm.test.ts'],
          testTimeout: TEST_MS,
          expect: { poll: PATIENCE },
        },
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
