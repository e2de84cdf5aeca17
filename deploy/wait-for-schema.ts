// `node deploy/wait-for-schema.ts SERVICE`: ends when the database has the schema that this code of the service needs.
// The service waits for it too; as a container before it, it shows what the service is waiting for.
import { databaseConfig, type Environment, readConfig } from '#kit/config.ts';
import { createLog } from '#kit/log.ts';
import { Metrics } from '#kit/metrics.ts';
import { openDatabase } from '#kit/postgres.ts';
import { waitForSchema } from '#kit/schema.ts';
import { allMigrations } from './migrate.ts';

async function main(service: string | undefined, environment: Environment): Promise<void> {
  const known = allMigrations().map((migrations) => migrations.service);
  if (service === undefined || !known.includes(service)) throw new Error(`name one of ${known.join(', ')}`);
  const { DATABASE_URL } = readConfig({ DATABASE_URL: databaseConfig.DATABASE_URL }, environment);
  const log = await createLog({ service: `${service} wait-for-schema`, level: 'info' });
  const database = openDatabase({ url: DATABASE_URL, poolMax: 1, name: service, metrics: new Metrics(), log });
  await waitForSchema(database, service, log, new AbortController().signal);
  await database.close();
}

process.once('SIGTERM', () => process.exit(143));
await main(process.argv[2], process.env).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
