/**
 * The files whose tests pass on a Citus cluster; `npm run test:citus` runs them. Further files are run with
 * `npm run test:citus -- PATH`.
 */
export const FILES = ['test/citus/distribution.citus.test.ts'];
