import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { EXCLUDED } from './test/citus/excluded.ts';
import { PATIENCE } from './test/patience.ts';

// Tests start hundreds of processes, which spend most of their start on compiling. `npm ci` empties this cache.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compile');

// A generous limit, because a busy machine takes three times as long. Tests that guarantee a shorter time assert it.
const TEST_MS = 60_000;

/** `npm run test:restore` runs these. */
const RESTORE = 'test/restore/**/*.restore.test.ts';

/** `npm run test:failover` runs these. */
const FAILOVER = 'test/failover/**/*.failover.test.ts';

/** `npm run test:citus` runs these, and other integration tests on the same cluster. */
const CITUS = 'test/citus/**/*.citus.test.ts';
const CITUS_NODES = 'test/citus/nodes.citus.test.ts';

/** A test that replaces modules, and therefore needs modules of its own. */
const REPLACES_MODULES = 'test/failure/authorisation.test.ts';

/** Starts the processes of the previous release and of this one, one after another, which takes minutes. */
const UPGRADE = 'test/upgrade/upgrade.test.ts';

/** Restarts services under a constant load and allows no failed request. It runs after all other tests, which need the CPU too. */
const NEEDS_QUIET = 'test/failure/rolling.long.test.ts';

/** Tests that other projects run. */
const NOT_INTEGRATION = [
  '**/*.unit.test.ts',
  '**/*.helm.test.ts',
  '**/node_modules/**',
  RESTORE,
  FAILOVER,
  REPLACES_MODULES,
  NEEDS_QUIET,
  UPGRADE,
];

const integration = {
  globalSetup: './test/integration.setup.ts',
  pool: 'forks',
  testTimeout: TEST_MS,
  hookTimeout: 60_000,
  expect: { poll: PATIENCE },
} as const;

const EXCLUDED_FILES = Object.entries(EXCLUDED).flatMap(([file, { tests }]) => (tests ? [] : [file]));

/** `npm run test:citus`: integration tests on a Citus cluster. */
const citus = {
  test: {
    ...integration,
    name: 'citus',
    globalSetup: './test/citus/citus.setup.ts',
    include: ['{services,gateway,deploy,clients,test}/**/*.test.ts'],
    exclude: [...NOT_INTEGRATION, ...EXCLUDED_FILES, CITUS_NODES],
    setupFiles: './test/citus/skip-excluded.setup.ts',
    isolate: false,
  },
};

/** `npm run test:citus`: a test with a Citus cluster of its own and all services. It runs last, because it would slow down the tests of the project `citus`. */
const citusNodes = {
  test: {
    ...integration,
    name: 'citus-nodes',
    include: [CITUS_NODES],
    sequence: { groupOrder: 1 },
  },
};

export default defineConfig({
  test: {
    // The summary comes last, because other programs read the last line.
    reporters: ['default', './test/reporter.ts'],
    // Integration tests wait for timers and for other processes for more than half of their time. With more workers, tests that
    // measure time within a second would fail now and then.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{services,gateway,proto,deploy,clients,test}/**/*.unit.test.ts'],
          pool: 'threads',
          isolate: false,
          testTimeout: TEST_MS,
          expect: { poll: PATIENCE },
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{services,gateway,deploy,clients,test}/**/*.test.ts'],
          exclude: [...NOT_INTEGRATION, CITUS],
          ...integration,
          // Files share their worker's modules: importing them for each file took a quarter of the processor's time. What a
          // test changes in its process (timers, environment) it must restore.
          isolate: false,
        },
      },
      {
        test: { ...integration, name: 'isolated', include: [REPLACES_MODULES] },
      },
      {
        test: { ...integration, name: 'quiet', include: [NEEDS_QUIET], sequence: { groupOrder: 1 } },
      },
      ...(process.env['TEST_CITUS'] ? [citus, citusNodes] : []),
      {
        // `npm run test:chart`: tests that need Helm, in LAB_BIN or on the path.
        test: {
          name: 'chart',
          include: ['test/chart/**/*.helm.test.ts'],
          testTimeout: TEST_MS,
          expect: { poll: PATIENCE },
        },
      },
      {
        // `npm run test:restore`: backups and standbys with the programs of a PostgreSQL installation, one file after the other.
        test: {
          ...integration,
          name: 'restore',
          include: [RESTORE],
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        // `npm run test:failover`: PostgreSQL's primary fails again and again while clients write; with exact time bounds.
        test: {
          ...integration,
          name: 'failover',
          include: [FAILOVER],
          env: { TEST_LONG: '1' },
          fileParallelism: false,
          testTimeout: 1_800_000,
          hookTimeout: 300_000,
        },
      },
      {
        // `npm run test:upgrade`
        test: { ...integration, name: 'upgrade', include: [UPGRADE], testTimeout: 900_000 },
      },
      {
        // `npm run test:long`: the exact time bounds, one file after the other.
        test: {
          ...integration,
          name: 'long',
          include: ['{services,gateway,deploy,clients,test}/**/*.long.test.ts'],
          env: { TEST_LONG: '1' },
          fileParallelism: false,
          testTimeout: 600_000,
        },
      },
    ],
  },
});
