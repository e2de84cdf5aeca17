import type { Queryable } from './pool.ts';

/** A standby that takes over may have a clock that is a little behind that of the server before. */
const MARGIN_MS = 5_000;

export interface ChangeTime {
  /** Unix milliseconds by the database's clock. */
  now: number;
  /** Unix milliseconds; whoever reads every row changed since then misses none, however late it is committed. */
  completeUntil: number;
}

/**
 * Until when the changes that can be read now are complete: before the start of the oldest transaction that is still
 * writing. To be called before the rows are read. Whoever writes such rows must take their time with clock_timestamp()
 * after the transaction has its number (deploy/decisions/0013).
 */
export async function readChangeTime(on: Queryable, marginMs = MARGIN_MS): Promise<ChangeTime> {
  // The time is taken before the sessions are looked at: who has no number by then takes the time of its rows later.
  // All replicas sign in as one role, and a role sees its own sessions.
  const [row] = await on.query<{ now: number; age: number }>(
    `SELECT extract(epoch FROM start.now)::float8 * 1000 AS now, writers.age
     FROM (SELECT clock_timestamp() AS now OFFSET 0) AS start
     CROSS JOIN LATERAL (
       SELECT COALESCE(extract(epoch FROM max(pg_catalog.clock_timestamp() - xact_start))::float8 * 1000, 0) AS age
       FROM pg_stat_activity
       WHERE datname = current_database() AND backend_xid IS NOT NULL AND start.now IS NOT NULL
     ) AS writers`,
  );
  if (!row) throw new Error('the statement returned no row');
  return { now: row.now, completeUntil: Math.max(0, Math.floor(row.now - Math.max(0, row.age) - marginMs)) };
}
