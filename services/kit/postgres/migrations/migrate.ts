import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationBuilder, RunnerOption } from 'node-pg-migrate';
import { type Client, DatabaseError } from 'pg';
import { type ConcurrentStatement, concurrentStatement, migrationNames, placeOf } from './files.ts';
import { retryWhileLocked } from './lock-retry.ts';
import { LockWatch, type Report } from './lock-watch.ts';
import { LOCK_TIMEOUT_MS, openMigrationSession, setLockTimeout, takeAdvisoryLock } from './session.ts';

/**
 * The migrations of one service: `directory` contains `0001_name.sql`, `0002_name.sql` and so on; `service` is also the
 * name of the database schema.
 */
export type Migrations = { service: string; directory: string };

export interface MigrateOptions {
  url: string;
  /**
   * How long, in milliseconds, each migration may wait for locks, by default five minutes; its running time before the first
   * failed wait does not count. The error names who held them.
   */
  lockPatienceMs?: number | undefined;
  /** Receives what an operator should know while migrations wait; by default nobody does. */
  report?: Report | undefined;
}

const SERVICE_NAME = /^[a-z][a-z0-9_]*$/;
const TABLE = 'schema_migrations';
// The number of the advisory lock that all migrators of a database take; any constant number would do.
const LOCK = 5_042_017_326;
const UNDEFINED_TABLE = '42P01';
export const LOCK_PATIENCE_MS = 300_000;
const LOOK_TIMEOUT_MS = 5_000;

/**
 * Applies the pending migrations of one service, each file in its own transaction.
 * Returns the names of the applied files, without `.sql`. Throws an error that names the file and the reason.
 */
export async function migrate({ service, directory, ...options }: Migrations & MigrateOptions): Promise<string[]> {
  const applied = await migrateServices([{ service, directory }], options);
  return applied.map(({ name }) => name);
}

/**
 * Applies the pending migrations of several services, one after another on one connection. Concurrent migrators wait
 * for each other. A service without pending migrations costs one query and no lock.
 */
export async function migrateServices(
  services: readonly Migrations[],
  { url, lockPatienceMs = LOCK_PATIENCE_MS, report = () => {} }: MigrateOptions,
): Promise<{ service: string; name: string }[]> {
  const client = await openMigrationSession(url);
  let watch: LockWatch | undefined;
  let migrator: Migrator | undefined;
  try {
    const applied: { service: string; name: string }[] = [];
    for (const migrations of services) {
      if ((await pendingMigrations(client, migrations)).length === 0) continue;
      if (!migrator) {
        await takeAdvisoryLock(client, LOCK, report);
        watch = new LockWatch({ pid: await processId(client), open: () => openWatch(url), report });
        migrator = new Migrator({ client, watch, lockPatienceMs, report });
      }
      const names = await migrator.applyPending(migrations);
      applied.push(...names.map((name) => ({ service: migrations.service, name })));
    }
    return applied;
  } finally {
    await watch?.end();
    // Closing the session also releases the migration lock and rolls back an unfinished transaction.
    await client.end();
  }
}

const openWatch = (url: string) =>
  openMigrationSession(url, { application_name: 'migrate lock watch', query_timeout: LOOK_TIMEOUT_MS });

async function processId(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
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

interface MigratorOptions {
  client: Client;
  watch: LockWatch;
  lockPatienceMs: number;
  report: Report;
}

/** Applies migrations on a session that holds the migration lock. */
class Migrator {
  readonly #client: Client;
  readonly #lockPatienceMs: number;
  readonly #report: Report;
  readonly #watch: LockWatch;

  constructor({ client, watch, lockPatienceMs, report }: MigratorOptions) {
    this.#client = client;
    this.#watch = watch;
    this.#lockPatienceMs = lockPatienceMs;
    this.#report = report;
  }

  /** The pending migrations are read again, because another migrator may have applied some before. */
  async applyPending(migrations: Migrations): Promise<string[]> {
    const pending = await pendingMigrations(this.#client, migrations);
    // With an empty search path a migration without a schema name fails, instead of changing another schema.
    await this.#client.query("SET search_path TO ''");
    for (const name of pending) await this.#apply(migrations, name);
    return pending;
  }

  /** Applies one file. Repeats it while other sessions hold locks that it needs; nothing of it is left in between. */
  async #apply(migrations: Migrations, name: string): Promise<void> {
    const file = join(migrations.directory, `${name}.sql`);
    try {
      const concurrent = concurrentStatement(await readFile(file, 'utf8'));
      await retryWhileLocked(
        (remainingMs) =>
          concurrent ? this.#runConcurrently(migrations, name, concurrent, remainingMs) : this.#run(migrations, name),
        {
          patienceMs: this.#lockPatienceMs,
          lockTimeoutMs: concurrent ? this.#lockPatienceMs : LOCK_TIMEOUT_MS,
          onRetry: (error, pauseMs) =>
            this.#report(
              `${migrations.service}/${name} is tried again in ${(pauseMs / 1000).toFixed(1)} s: ${this.#reasonOf(error)}`,
            ),
        },
      );
    } catch (error) {
      throw new Error(`Migration ${await placeOf(file, error)} failed: ${this.#reasonOf(error)}`, { cause: error });
    }
  }

  /** The error, and the last wait for a lock that was seen before it. */
  #reasonOf(error: unknown): string {
    const seen = this.#watch.takeSeen();
    return [error instanceof Error ? error.message : String(error), ...(seen ? [seen] : [])].join('; ');
  }

  /**
   * Such a statement waits for old transactions, but nothing that a service does waits for it. It waits several times,
   * and PostgreSQL limits each wait, not their sum.
   */
  async #runConcurrently(
    migrations: Migrations,
    name: string,
    statement: ConcurrentStatement,
    remainingMs: number,
  ): Promise<void> {
    await setLockTimeout(this.#client, remainingMs);
    await this.#dropInvalid(statement);
    await this.#run(migrations, name, OUTSIDE_OF_TRANSACTION);
    await setLockTimeout(this.#client);
  }

  /** Drops the index of an attempt that was interrupted: PostgreSQL leaves it without making it valid. */
  async #dropInvalid({ creates }: ConcurrentStatement): Promise<void> {
    if (!creates) return;
    const name = `"${creates.schema}"."${creates.index}"`;
    const { rowCount } = await this.#client.query(
      'SELECT FROM pg_catalog.pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid',
      [name],
    );
    if (rowCount === 0) return;
    this.#report(`dropping the index ${name}, which an interrupted migration has left incomplete`);
    await this.#client.query(`DROP INDEX CONCURRENTLY ${name}`);
  }

  async #run({ service, directory }: Migrations, name: string, loaders?: Loaders): Promise<void> {
    // Imported here, because services import this file only for the names of migrations.
    const { runner } = await import('node-pg-migrate');
    await runner({
      dbClient: this.#client,
      dir: directory,
      // This regular expression for whole file names ignores everything except SQL files, such as a README.
      ignorePattern: '(?!.*\\.sql$).*',
      migrationsTable: TABLE,
      migrationsSchema: service,
      createMigrationsSchema: true,
      direction: 'up',
      file: name,
      singleTransaction: !loaders,
      ...(loaders && { migrationLoaderStrategies: loaders }),
      noLock: true,
      log: () => {},
    });
  }
}

type Loaders = RunnerOption['migrationLoaderStrategies'];

/** Makes node-pg-migrate run each file as it is, without BEGIN and COMMIT. */
const OUTSIDE_OF_TRANSACTION: Loaders = [
  {
    extensions: ['.sql'],
    loader: (paths) =>
      Promise.all(
        paths.map(async (path) => {
          const text = await readFile(path, 'utf8');
          const up = (pgm: MigrationBuilder) => {
            pgm.noTransaction();
            pgm.sql(text);
          };
          return { id: path, filePaths: [path], actions: { up } };
        }),
      ),
  },
];
