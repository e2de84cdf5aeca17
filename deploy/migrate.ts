import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { type Migrations, migrateServices } from '#kit/postgres/migrate.ts';
import { type Environment, number, readConfig, url } from '#kit/service/config.ts';
import { prepareRoles, rolesOf } from './database-roles.ts';

const SERVICES = join(import.meta.dirname, '..', 'services');
const RETRY_MS = 500;
const CONNECT_MS = 5_000;

const variables = {
  /** Migrators wait for each other with a lock of their session, which a transaction pooler does not give them. */
  DATABASE_DIRECT_URL: url('postgres', 'postgresql').optional(),
  DATABASE_URL: url('postgres', 'postgresql').optional(),
  /** How long a server that does not answer yet is waited for. */
  MIGRATE_WAIT_SECONDS: number(0, 0, 3600),
};

/** Every service that has a folder of migrations, in alphabetical order. */
export function allMigrations(): Migrations[] {
  return readdirSync(SERVICES)
    .sort()
    .map((service) => ({ service, directory: join(SERVICES, service, 'migrations') }))
    .filter(({ directory }) => existsSync(directory));
}

/** Brings all schemas of a database up to date. Returns what was applied, as `service/0001_name`. */
export async function migrateAll(url: string): Promise<string[]> {
  const applied = await migrateServices(url, allMigrations());
  return applied.map(({ service, name }) => `${service}/${name}`);
}

/** Resolves once the server takes connections; throws why it does not when the time is over, or when it refuses us. */
export async function untilReachable(url: string, seconds: number): Promise<void> {
  for (const deadline = Date.now() + seconds * 1000; ; await pause(RETRY_MS)) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
    client.on('error', () => {});
    try {
      await client.connect();
      return;
    } catch (error) {
      // Class 57 is a server that starts or stops; other answers will be the same next time.
      const isAnswer = error instanceof DatabaseError && !error.code?.startsWith('57');
      if (isAnswer || Date.now() + RETRY_MS > deadline) throw error;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

async function main(environment: Environment): Promise<void> {
  const config = readConfig(variables, environment);
  const url = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL;
  if (!url) throw new Error('DATABASE_URL is not set');
  await untilReachable(url, config.MIGRATE_WAIT_SECONDS);
  const applied = await migrateAll(url);
  for (const name of applied) console.log(`applied ${name}`);
  if (applied.length === 0) console.log('nothing to migrate');
  const services = allMigrations().map(({ service }) => service);
  for (const change of await prepareRoles(url, rolesOf(services, environment))) console.log(change);
}

if (import.meta.main) {
  // As a container's first process it would not be ended by a signal that it does not listen to.
  process.once('SIGTERM', () => process.exit(143));
  await main(process.env).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
