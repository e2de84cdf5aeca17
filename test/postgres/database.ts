import { randomBytes } from 'node:crypto';
import { Client, DatabaseError } from 'pg';
import { inject } from 'vitest';
import { type Database, openDatabase } from '#kit/postgres/pool.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';

export type TestDatabase = {
  url: string;
  /** Deletes the database and closes the connections to it. */
  drop(): Promise<void>;
};

/** The SQL state of an attempt to drop a database that is in use. */
const IN_USE = '55006';
/** The daemon of Citus may connect to a database again while it is dropped. */
const DROP_ATTEMPTS = 5;

/** Creates a database with all migrations applied, as a copy of the template, within some hundredths of a second. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  // Copying files takes about half the CPU time of copying pages through the server's cache.
  await onEachNode(`CREATE DATABASE ${name} TEMPLATE ${inject('templateDatabase')} STRATEGY FILE_COPY`);
  const server = inject('postgresUrl');
  for (const setting of inject('databaseSettings')) {
    await databaseRows(server, `ALTER DATABASE ${name} SET ${setting}`);
  }
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => onEachNode(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, DROP_ATTEMPTS) };
}

/** Runs one statement on a new connection, without a timeout, and returns its rows. */
export async function databaseRows<Row extends object>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** A connection pool like that of a service, with one connection. */
export async function openTestPool(url: string): Promise<Database> {
  const log = await createLog({ service: 'test', level: 'silent' });
  return openDatabase({ url, poolMax: 1, name: 'test', metrics: new Metrics(), log });
}

/** Runs a statement about databases on each server that has a part of them, several times if a database is in use. */
async function onEachNode(statement: string, attempts = 1): Promise<void> {
  const run = (url: string, left: number): Promise<unknown> =>
    databaseRows(url, statement).catch((error: unknown) => {
      if (left > 1 && error instanceof DatabaseError && error.code === IN_USE) return run(url, left - 1);
      throw error;
    });
  await Promise.all(inject('databaseNodes').map((url) => run(url, attempts)));
}

/** The names of the tables in some schemas that have rows of a guild, sorted. */
export async function tablesWithRowsOf(url: string, schemas: readonly string[], guild: string): Promise<string[]> {
  const tables = await databaseRows<{ name: string }>(
    url,
    `SELECT table_schema || '.' || table_name AS name FROM information_schema.columns
     WHERE column_name = 'guild_id' AND table_schema = ANY($1) ORDER BY name`,
    [schemas],
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await databaseRows(url, `SELECT FROM ${name} WHERE guild_id = $1 LIMIT 1`, [guild]);
    if (rows.length > 0) found.push(name);
  }
  return found;
}
