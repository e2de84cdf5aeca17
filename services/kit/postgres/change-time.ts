import type { Queryable } from './pool.ts';

/**
 * Milliseconds subtracted from the reported time: after a failover the new PostgreSQL server may have a clock slightly
 * behind that of the previous server.
 */
const MARGIN_MS = 5_000;

export interface ChangeTime {
  /** The current time of the database's clock in Unix milliseconds. */
  now: number;
  /**
   * A time in Unix milliseconds before which all changes of rows are committed: no transaction that commits later has
   * changed rows before this time.
   */
  completeUntil: number;
}

/** A transaction that writes has an ID, and all replicas log in as the same role, which sees its own sessions. */
const IS_WRITING = 'backend_xid IS NOT NULL';

/** With Citus a transaction gets its ID on the node to which it writes, so that each open transaction may be writing. */
const MAY_BE_WRITING = `backend_type = 'client backend' AND pid <> pg_backend_pid()`;

/** The statement reads the time before the sessions: a transaction that starts to write later uses a later time for its rows. */
const readTime = (condition: string) =>
  `SELECT extract(epoch FROM start.now)::float8 * 1000 AS now, writers.age
   FROM (SELECT clock_timestamp() AS now OFFSET 0) AS start
   CROSS JOIN LATERAL (
     SELECT COALESCE(extract(epoch FROM max(pg_catalog.clock_timestamp() - xact_start))::float8 * 1000, 0) AS age
     FROM pg_stat_activity
     WHERE datname = current_database() AND ${condition} AND start.now IS NOT NULL
   ) AS writers`;

/**
 * Returns the time up to which the changes that are visible now are complete: the start of the oldest transaction that
 * is still writing (with Citus: of the oldest open transaction), minus a margin. Call this function before reading the rows.
 * Transactions that write such rows must read clock_timestamp() for them after they have a transaction ID
 * (deploy/decisions/0013).
 */
export async function readChangeTime(on: Queryable, marginMs = MARGIN_MS): Promise<ChangeTime> {
  const isDistributed = await on.isDistributed?.();
  const [row] = await on.query<{ now: number; age: number }>(readTime(isDistributed ? MAY_BE_WRITING : IS_WRITING));
  if (!row) throw new Error('the statement returned no row');
  return { now: row.now, completeUntil: Math.max(0, Math.floor(row.now - Math.max(0, row.age) - marginMs)) };
}
