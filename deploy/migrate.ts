import { setTimeout as pause } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { PrimaryFinder } from '#kit/postgres/hosts/primary-finder.ts';
import { type MigrateOptions, migrateServices } from '#kit/postgres/migrations/migrate.ts';
import { databaseUrl, type Environment, flag, number, readConfig } from '#kit/service/config.ts';
import { allMigrations } from './all-migrations.ts';
import { distributeTables } from './citus/distribute.ts';
import { grantOnNewTables, prepareRoles, rolesOf } from './database-roles.ts';

const RETRY_MS = 500;
const CONNECT_MS = 5_000;

/** The environment variables of the program that migrates. */
export const migrateVariables = {
  /** Migrations use a session-level lock, which does not work through a transaction pooler. */
  DATABASE_DIRECT_URL: databaseUrl().optional(),
  DATABASE_URL: databaseUrl().optional(),
  /** How long to wait for a server that does not respond yet. */
  MIGRATE_WAIT_SECONDS: number(0, 0, 3600),
  /** How long each migration and each role may wait for locks that other sessions hold. */
  MIGRATE_LOCK_WAIT_SECONDS: number(300, 1, 86_400),
  /** Distributes the tables over the nodes of a Citus cluster (deploy/operations/citus.md). */
  CITUS: flag(false),
};

/** Applies all missing migrations to a database. Returns their names, such as `service/0001_name`. */
export async function migrateAll(url: string, options: Omit<MigrateOptions, 'url'> = {}): Promise<string[]> {
  const applied = await migrateServices(allMigrations(), { url, ...options });
  return applied.map(({ service, name }) => `${service}/${name}`);
}

/** Resolves once the server accepts connections, with several hosts once one of them accepts writes. Throws the last error after the timeout, or when the server rejects us. */
export async function untilReachable(url: string, seconds: number): Promise<void> {
  const finder = new PrimaryFinder(url, 'migrate');
  for (const deadline = Date.now() + seconds * 1000; ; await pause(RETRY_MS)) {
    let client: Client | undefined;
    try {
      client = new Client({ connectionString: await finder.find(), connectionTimeoutMillis: CONNECT_MS });
      client.on('error', () => {});
      await client.connect();
      return;
    } catch (error) {
      // Class 57: the server is starting or stopping. Other errors would be the same at the next attempt.
      const isServiceError = error instanceof DatabaseError && !error.code?.startsWith('57');
      if (isServiceError || Date.now() + RETRY_MS > deadline) throw error;
    } finally {
      await client?.end().catch(() => undefined);
    }
  }
}

async function main(environment: Environment): Promise<void> {
  const config = readConfig(migrateVariables, environment);
  const url = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL;
  if (!url) throw new Error('DATABASE_URL is not set');
  const services = allMigrations().map(({ service }) => service);
  const roles = rolesOf(services, environment, url);
  await untilReachable(url, config.MIGRATE_WAIT_SECONDS);
  const options = {
    report: (line: string) => console.log(line),
    lockPatienceMs: config.MIGRATE_LOCK_WAIT_SECONDS * 1000,
  };
  await grantOnNewTables(url, roles, options.report);
  const applied = await migrateAll(url, options);
  for (const name of applied) console.log(`applied ${name}`);
  if (applied.length === 0) console.log('nothing to migrate');
  if (config.CITUS) for (const change of await distributeTables(url, services, options)) console.log(change);
  for (const change of await prepareRoles(url, roles, options)) console.log(change);
}

if (import.meta.main) {
  // As a container's first process it would not be ended by a signal that it does not listen to.
  process.once('SIGTERM', () => process.exit(143));
  await main(process.env).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
