import { expect } from 'vitest';
import { databaseRows } from './database.ts';

/** Waits until every replica of a service has seen all others in pg_stat_activity, so that it will notice if one ends. */
export async function untilListenersSeen(url: string, service: string): Promise<void> {
  // A new connection sets its application name slightly later, so that an immediate look would miss it.
  const haveLooked = `SELECT bool_and(query LIKE '%pg_stat_activity%' AND query_start > (
      SELECT max(backend_start) + interval '1 second' FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = $1)) AS all
    FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`;
  await expect.poll(() => databaseRows(url, haveLooked, [`${service} listener`])).toEqual([{ all: true }]);
}
