import { databaseRows } from './database.ts';

/**
 * Returns how many transactions of a database were the victim of a deadlock. All connections to it must have been closed,
 * because a connection adds its deadlocks to the statistics of the database when it ends.
 */
export async function countDeadlocks(url: string): Promise<number> {
  const [row] = await databaseRows<{ deadlocks: number }>(
    url,
    'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
  );
  return row?.deadlocks ?? 0;
}
