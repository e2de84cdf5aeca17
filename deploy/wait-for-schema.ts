// `node deploy/wait-for-schema.ts SERVICE`: exits when the database has the schema that this version of the service needs.
// The service itself waits too; as an init container this program shows the reason in its own log, and as metrics on the
// service's ADMIN_PORT.

import { setTimeout as pause } from 'node:timers/promises';
import { openDatabase } from '#kit/postgres/pool.ts';
import { waitForSchema } from '#kit/postgres/schema.ts';
import { AdminServer } from '#kit/service/admin-server.ts';
import { databaseConfig, type Environment, number, processConfig, readConfig } from '#kit/service/config.ts';
import { Readiness } from '#kit/service/readiness.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { allMigrations } from './all-migrations.ts';

const { ADMIN_HOST, ADMIN_PORT } = processConfig;
const { DATABASE_URL } = databaseConfig;
const variables = {
  DATABASE_URL,
  ADMIN_HOST,
  ADMIN_PORT,
  /**
   * How many seconds this program goes on after the schema is complete. With different delays the services of an upgrade
   * do not start all at once.
   */
  START_DELAY_SECONDS: number(0, 0, 600),
};

async function main(service: string | undefined, environment: Environment): Promise<void> {
  const known = allMigrations().map((migrations) => migrations.service);
  if (service === undefined || !known.includes(service)) throw new Error(`name one of ${known.join(', ')}`);
  const config = readConfig(variables, environment);
  const log = await createLog({ service: `${service} wait-for-schema`, level: 'info' });
  // Prometheus takes an init container and the service after it for one instance: a start time here would count as a restart.
  const metrics = new Metrics({ ofProcess: false });
  const admin = new AdminServer({
    host: config.ADMIN_HOST,
    port: config.ADMIN_PORT,
    readiness: new Readiness(),
    metrics,
    admits: () => false,
  });
  await admin.start();
  const database = openDatabase({ url: config.DATABASE_URL, poolMax: 1, name: service, metrics, log });
  await waitForSchema(database, service, { log, metrics, signal: new AbortController().signal });
  await database.close();
  await pause(config.START_DELAY_SECONDS * 1000);
  await admin.stop();
}

process.once('SIGTERM', () => process.exit(143));
await main(process.argv[2], process.env).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
