import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import { Client, DatabaseError } from 'pg';

/**
 * The migrations of one service: `directory` contains `0001_name.sql`, `0002_name.sql` and so on; `service` is also the
 * name of the database schema.
 */
export type Migrations = { service: string; directory: string };

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const SERVICE_NAME = /^[a-z][a-z0-9_]*$/;
const TABLE = 'schema_migrations';
// The number of the advisory lock that all migrators of a database take; any constant number would do.
const LOCK = 5_042_017_326;
const UNDEFINED_TABLE = '42P01';

/**
 * Applies the pending migrations of one service, each file in its own transaction.
 * Returns the names of the applied files, without `.sql`. Throws an error that names the file and the reason.
 */
export async function migrate({ url, ...migrations }: Migrations & { url: string }): Promise<string[]> {
  const applied = await migrateServices(url, [migrations]);
  return applied.map(({ name }) => name);
}

/**
 * Applies the pending migrations of several services, one after another on one connection. Concurrent migrators wait
 * for each other. A service without pending migrations costs one query and no lock.
 */
export async function migrateServices(
  url: string,
  services: readonly Migrations[],
): Promise<{ service: string; name: string }[]> {
  const client = new Client({
    connectionString: url,
    application_name: 'migrate',
    connectionTimeoutMillis: 10_000,
    // Timeouts are off, because the wait for the migration lock may be longer than the role's statement timeout.
    options: '-c statement_timeout=0 -c lock_timeout=0',
  });
  // Without a listener a connection lost between two queries would terminate the process; the next query reports the
  // loss.
  client.on('error', () => {});
  await client.connect();
  try {
    const applied: { service: string; name: string }[] = [];
    let isLocked = false;
    for (const migrations of services) {
      if ((await pendingMigrations(client, migrations)).length === 0) continue;
      if (!isLocked) await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
      isLocked = true;
      const names = await applyPending(client, migrations);
      applied.push(...names.map((name) => ({ service: migrations.service, name })));
    }
    return applied;
  } finally {
    // Closing the session also releases the migration lock and rolls back an unfinished transaction.
    await client.end();
  }
}

/** Returns the name of the newest migration in a directory, without `.sql`; undefined if there is none. */
export async function newestMigration(directory: string): Promise<string | undefined> {
  return (await migrationNames(directory)).at(-1);
}

/**
 * Returns the names of all migrations in a directory, in the order in which they are applied. Throws if the name of an
 * SQL file is malformed or its number is used twice.
 */
async function migrationNames(directory: string): Promise<string[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
  const numbers = new Set<string>();
  for (const file of files) {
    const number = FILE_NAME.exec(file)?.[1];
    if (number === undefined) throw new Error(`${join(directory, file)}: a migration is named like 0001_links.sql`);
    if (numbers.has(number)) throw new Error(`${join(directory, file)}: there is already a migration ${number}`);
    numbers.add(number);
  }
  return files.map((file) => file.slice(0, -'.sql'.length));
}

async function pendingMigrations(client: Client, { service, directory }: Migrations): Promise<string[]> {
  if (!SERVICE_NAME.test(service)) throw new Error(`"${service}" is not a valid service name`);
  const names = await migrationNames(directory);
  const done = await appliedNames(client, service);
  return names.filter((name) => !done.has(name));
}

async function appliedNames(client: Client, service: string): Promise<Set<string>> {
  try {
    const { rows } = await client.query<{ name: string }>(`SELECT name FROM "${service}".${TABLE}`);
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    if (error instanceof DatabaseError && error.code === UNDEFINED_TABLE) return new Set();
    throw error;
  }
}

/**
 * Applies the pending migrations of a service while this process holds the migration lock. They are read again, because
 * another migrator may have applied some before.
 */
async function applyPending(client: Client, migrations: Migrations): Promise<string[]> {
  const pending = await pendingMigrations(client, migrations);
  // With an empty search path a migration without a schema name fails, instead of changing another schema.
  await client.query("SET search_path TO ''");
  for (const name of pending) await applyOne(client, migrations, name);
  return pending;
}

async function applyOne(client: Client, { service, directory }: Migrations, name: string): Promise<void> {
  try {
    await runner({
      dbClient: client,
      dir: directory,
      // This regular expression for whole file names ignores everything except SQL files, such as a README.
      ignorePattern: '(?!.*\\.sql$).*',
      migrationsTable: TABLE,
      migrationsSchema: service,
      createMigrationsSchema: true,
      direction: 'up',
      file: name,
      singleTransaction: true,
      noLock: true,
      log: () => {},
    });
  } catch (error) {
    const file = join(directory, `${name}.sql`);
    const line = await errorLine(file, error);
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Migration ${file}${line === undefined ? '' : `:${line}`} failed: ${reason}`, { cause: error });
  }
}

/** Returns the line of the migration file that PostgreSQL's error points to, if any. */
async function errorLine(file: string, error: unknown): Promise<number | undefined> {
  if (!(error instanceof DatabaseError) || error.position === undefined) return undefined;
  const text = await readFile(file, 'utf8');
  return text.slice(0, Number(error.position) - 1).split('\n').length;
}
