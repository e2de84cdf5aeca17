import { setTimeout as wait } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { ApiError } from '../errors.ts';
import { pathOf } from '../files.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { newestMigration } from './migrations/files.ts';
import type { Queryable } from './pool.ts';

const RETRY_MS = 500;
/** The SQL states of the errors for an unknown schema and an unknown table. */
const NO_SCHEMA = ['3F000', '42P01'];

export interface SchemaWaitOptions {
  log: Logger;
  /** Receives the gauge `schema_current`, which an alert watches. */
  metrics: Metrics;
  signal: AbortSignal;
}

/**
 * Waits until the database schema has the newest migration that this version of the service needs; the schema may have
 * newer migrations.
 */
export async function waitForSchema(
  database: Queryable,
  service: string,
  { log, metrics, signal }: SchemaWaitOptions,
  migrations = pathOf(`services/${service}/migrations`),
): Promise<void> {
  const current = metrics.gauge(
    'schema_current',
    '1 if the database schema has all migrations that this version needs, otherwise 0',
  );
  current.set(0);
  const needed = await newestMigration(migrations);
  if (needed === undefined) throw new Error(`${service} has no migrations`);
  for (let attempt = 0; !signal.aborted; attempt++) {
    const missing = await findMissing(database, service, needed);
    if (missing === undefined) return current.set(1);
    if (attempt % 20 === 0) log.warn({ missing }, 'waiting for the database schema');
    await wait(RETRY_MS, undefined, { signal });
  }
}

async function findMissing(database: Queryable, service: string, needed: string): Promise<string | undefined> {
  try {
    const found = await database.query(`SELECT 1 FROM ${service}.schema_migrations WHERE name = $1`, [needed]);
    return found.length > 0 ? undefined : `migration ${needed} of ${service}`;
  } catch (error) {
    if (error instanceof DatabaseError && NO_SCHEMA.includes(error.code ?? '')) return `the schema ${service}`;
    const cause = error instanceof ApiError ? error.cause : error;
    return `a connection (${cause instanceof Error ? cause.message : String(cause)})`;
  }
}
