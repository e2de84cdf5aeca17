import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Migrations, migrateServices } from '#kit/migrate.ts';

const SERVICES = join(import.meta.dirname, '..', 'services');

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

async function main(): Promise<void> {
  // Migrators wait for each other with a lock of their session, which a transaction pooler does not give them.
  const url = process.env['DATABASE_DIRECT_URL'] || process.env['DATABASE_URL'];
  if (!url) throw new Error('DATABASE_URL is not set');
  const applied = await migrateAll(url);
  for (const name of applied) console.log(`applied ${name}`);
  if (applied.length === 0) console.log('nothing to migrate');
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
