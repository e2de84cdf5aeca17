import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { allMigrations } from '../../deploy/all-migrations.ts';
import { CLOCK_SETTING } from '../../deploy/citus/clock.ts';
import { distributeTables } from '../../deploy/citus/distribute.ts';
import { migrateAll } from '../../deploy/migrate.ts';
import { databaseRows } from '../postgres/database.ts';
import { startTestRedis } from '../redis/server.ts';
import { createFolder } from '../restore/server.ts';
import { createRunFolder } from '../run-folder.ts';
import { CitusCluster } from './cluster.ts';
import { findCitus, NOT_CHECKED } from './installation.ts';

const TEMPLATE = 'guild_template';
/** Makes each statement fail that runs on more than one shard. */
const SINGLE_SHARD = `citus.multi_task_query_log_level = 'error'`;

/** Starts a Citus cluster and Redis for one run of the integration tests; vitest calls the returned function at its end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const installation = findCitus();
  if (!installation) throw new Error(NOT_CHECKED);
  const folder = createRunFolder();
  const redis = await startTestRedis(join(folder, 'redis'));
  const cluster = await CitusCluster.start(installation, { folder: createFolder(join(folder, 'citus')) });
  await createTemplate(cluster);
  project.provide('postgresUrl', cluster.coordinator.url('postgres'));
  project.provide(
    'databaseNodes',
    cluster.nodes.map((node) => node.url('postgres')),
  );
  project.provide('templateDatabase', TEMPLATE);
  project.provide('databaseSettings', [CLOCK_SETTING, ...(process.env['SINGLE_SHARD'] ? [SINGLE_SHARD] : [])]);
  project.provide('redisUrl', redis.url);
  project.provide('appFolder', join(folder, 'app'));
  return async () => {
    await Promise.all([cluster.stop(), redis.stop()]);
    rmSync(folder, { recursive: true, force: true });
  };
}

/**
 * Creates a database with all tables, of which each test gets a copy: the metadata of Citus is in tables of the database,
 * so a copy of the database of each node is a distributed database as well.
 */
async function createTemplate(cluster: CitusCluster): Promise<void> {
  const url = await cluster.createDatabase(TEMPLATE);
  await migrateAll(url);
  await distributeTables(
    url,
    allMigrations().map(({ service }) => service),
  );
  for (const node of cluster.nodes) {
    const maintenance = node.url('postgres');
    await databaseRows(maintenance, `ALTER DATABASE ${TEMPLATE} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`);
    // PostgreSQL cannot copy a database while somebody, such as the daemon of Citus, is connected to it.
    await databaseRows(
      maintenance,
      'SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1',
      [TEMPLATE],
    );
  }
}
