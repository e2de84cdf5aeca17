import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { startPostgres, VOLATILE } from '#local/postgres.ts';
import { migrateAll } from '../deploy/migrate.ts';
import { startTestRedis } from './redis/server.ts';
import { createRunFolder } from './run-folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server on which the tests create their databases. */
    postgresUrl: string;
    /** All servers that have a part of each database: several with Citus, otherwise only that of `postgresUrl`. */
    databaseNodes: string[];
    /** What `ALTER DATABASE … SET` sets for each test database, such as `work_mem = '8MB'`. */
    databaseSettings: string[];
    /** The name of a database with all migrations, which each test database is a copy of. */
    templateDatabase: string;
    redisUrl: string;
    /** Where the bundled programs are, once a test needed them (test/system/app.ts). */
    appFolder: string;
  }
}

const TEMPLATE = 'guild_template';

/** Starts PostgreSQL and Redis for one run of the integration tests; vitest calls the returned function at its end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = createRunFolder();
  const started: { stop(): Promise<void> }[] = [];
  const teardown = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  const keep = <Server extends { stop(): Promise<void> }>(server: Server): Server => {
    started.push(server);
    return server;
  };
  const results = await Promise.allSettled([
    startPostgres({ folder: join(folder, 'postgres'), settings: VOLATILE }).then(keep),
    startTestRedis(join(folder, 'redis')).then(keep),
  ]);
  try {
    const [postgres, redis] = results.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
    if (!postgres || !redis) throw new Error('a server did not start');
    await createTemplate(postgres.url);
    project.provide('postgresUrl', postgres.url);
    project.provide('databaseNodes', [postgres.url]);
    project.provide('databaseSettings', []);
    project.provide('templateDatabase', TEMPLATE);
    project.provide('redisUrl', redis.url);
    project.provide('appFolder', join(folder, 'app'));
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}

async function createTemplate(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${TEMPLATE}`);
    const template = new URL(url);
    template.pathname = `/${TEMPLATE}`;
    await migrateAll(template.href);
    // PostgreSQL cannot copy a database while somebody is connected to it.
    await client.query(`ALTER DATABASE ${TEMPLATE} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`);
  } finally {
    await client.end();
  }
}
