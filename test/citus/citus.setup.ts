import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { SETTINGS } from '../../deploy/citus/clock.ts';
import { databaseRows } from '../postgres/database.ts';
import { startTestRedis } from '../redis/server.ts';
import { createFolder } from '../restore/server.ts';
import { createRunFolder } from '../run-folder.ts';
import { CitusCluster, createDistributedDatabase } from './cluster.ts';
import { findCitus, NOT_CHECKED } from './installation.ts';

const TEMPLATE = 'guild_template';

/** Starts a Citus cluster and Redis for one run of the integration tests; vitest calls the returned function at its end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const installation = findCitus();
  if (!installation) throw new Error(NOT_CHECKED);
  const folder = createRunFolder();
  const started: { stop(): Promise<void> }[] = [];
  const teardown = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const redis = await startTestRedis(join(folder, 'redis'));
    started.push(redis);
    const cluster = await CitusCluster.start(installation, createFolder(join(folder, 'citus')));
    started.push(cluster);
    const nodes = cluster.nodes.map((node) => node.url('postgres'));
    await createTemplate(nodes);
    project.provide('postgresUrl', cluster.coordinator.url('postgres'));
    project.provide('databaseNodes', nodes);
    project.provide('templateDatabase', TEMPLATE);
    project.provide(
      'databaseSettings',
      Object.entries(SETTINGS).map(([name, value]) => `${name} = ${value}`),
    );
    project.provide('redisUrl', redis.url);
    project.provide('appFolder', join(folder, 'app'));
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}

/**
 * Creates the template of the test databases, with all tables, on each node. Citus stores in ordinary tables where the shards
 * are, so copying the template with CREATE DATABASE on each node makes another distributed database.
 */
async function createTemplate(nodes: readonly string[]): Promise<void> {
  await createDistributedDatabase(nodes, TEMPLATE);
  for (const maintenance of nodes) {
    await databaseRows(maintenance, `ALTER DATABASE ${TEMPLATE} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`);
    // PostgreSQL cannot copy a database while somebody, such as the daemon of Citus, is connected to it.
    await databaseRows(
      maintenance,
      'SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1',
      [TEMPLATE],
    );
  }
}
