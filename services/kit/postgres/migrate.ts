import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import { Client, DatabaseError } from 'pg';

/** The SQL files of one service: `directory` holds `0001_name.sql`, `0002_name.sql` …, `service` names the schema. */
export type Migrations = { service: string; directory: string };

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const SERVICE_NAME = /^[a-z][a-z0-9_]*$/;
const TABLE = 'schema_migrations';
// One number for all migrators of a database; its value means nothing.
const LOCK = 5_042_017_326;
const UNDEFINED_TABLE = '42P01';

/**
 * Applies what one service's directory holds and its schema lacks, each file in a transaction of its own.
 * Returns the names applied, without `.sql`. Throws an error that names the file and the reason.
 */
export async function migrate({ url, ...migrations }: Migrations & { url: string }): Promise<string[]> {
  const applied = await migrateServices(url, [migrations]);
  return applied.map(({ name }) => name);
}

/**
 * Applies the migrations of several services, one after another on one connection. Migrators that run at the same
 * time wait for each other; without anything to do each service costs one query and no lock.
 */
export async function migrateServices(
  url: string,
  services: readonly Migrations[],
): Promise<{ service: string; name: string }[]> {
  const client = new Client({
    connectionString: url,
    application_name: 'migrate',
    connectionTimeoutMillis: 10_000,
    // The wait for the lock may be longer than what the role is given for its statements.
    options: '-c statement_timeout=0 -c lock_timeout=0',
  });
  // A connection lost between two queries is reported by the next query.
  client.on('error', () => {});
  await client.connect();
  try {
    const applied: { service: string; name: string }[] = [];
    let locked = false;
    for (const migrations of services) {
      if ((await pendingMigrations(client, migrations)).length === 0) continue;
      if (!locked) await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
      locked = true;
      const names = await applyPending(client, migrations);
      applied.push(...names.map((name) => ({ service: migrations.service, name })));
    }
    return applied;
  } finally {
    // Closing the session also gives the lock back and undoes an unfinished transaction.
    await client.end();
  }
}

/** The name of the last migration in a directory, without `.sql`; undefined when there is none. */
export async function newestMigration(directory: string): Promise<string | undefined> {
  return (await migrationNames(directory)).at(-1);
}

/** All names in a directory in the order in which they are applied. Throws for a name that would be overlooked. */
async function migrationNames(directory: string): Promise<string[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
  const numbers = new Set<string>();
  for (const file of files) {
    const number = FILE_NAME.exec(file)?.[1];
    if (number === undefined) throw new Error(`${join(directory, file)}: a migration is named like 0001_links.sql`);
    if (numbers.has(number)) throw new Error(`${join(directory, file)}: there is another migration ${number}`);
    numbers.add(number);
  }
  return files.map((file) => file.slice(0, -'.sql'.length));
}

async function pendingMigrations(client: Client, { service, directory }: Migrations): Promise<string[]> {
  if (!SERVICE_NAME.test(service)) throw new Error(`"${service}" does not name a service`);
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

/** Called with the lock held, so what is pending is read again: another migrator may have been here meanwhile. */
async function applyPending(client: Client, migrations: Migrations): Promise<string[]> {
  const pending = await pendingMigrations(client, migrations);
  // Without a search path a file that forgets to name its schema fails instead of filling another one.
  await client.query("SET search_path TO ''");
  for (const name of pending) await applyOne(client, migrations, name);
  return pending;
}

async function applyOne(client: Client, { service, directory }: Migrations, name: string): Promise<void> {
  try {
    await runner({
      dbClient: client,
      dir: directory,
      // A regular expression over whole file names: everything that is not SQL, such as a README.
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

/** The line of a file that PostgreSQL's error points to, where it points anywhere. */
async function errorLine(file: string, error: unknown): Promise<number | undefined> {
  if (!(error instanceof DatabaseError) || error.position === undefined) return undefined;
  const text = await readFile(file, 'utf8');
  return text.slice(0, Number(error.position) - 1).split('\n').length;
}
