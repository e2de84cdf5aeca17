import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathOf } from '#kit/files.ts';
import type { Migrations } from '#kit/postgres/migrations/migrate.ts';

const SERVICES = pathOf('services');

/** Services with a folder of migrations, in alphabetical order. */
export function allMigrations(): Migrations[] {
  return readdirSync(SERVICES)
    .sort()
    .map((service) => ({ service, directory: join(SERVICES, service, 'migrations') }))
    .filter(({ directory }) => existsSync(directory));
}
