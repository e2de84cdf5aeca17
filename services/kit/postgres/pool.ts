import type { Pool } from 'pg';
import { ApiError } from '../errors.ts';
import { Breakers } from '../resilience/breaker.ts';
import { DeadlineError, within } from '../resilience/deadline.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { CachedPlans } from './cached-plans.ts';
import { distributionReader } from './citus/distribution.ts';
import { Connection, READ_MS, STATEMENT_MS, transaction } from './connection.ts';
import { DATABASE_BREAKER, DatabaseHealth } from './health.ts';
import { PrimaryPool } from './hosts/primary-pool.ts';
import type { Queryable, Transaction } from './queryable.ts';
import { isRead } from './statements.ts';
import { getTypeParser } from './type-parser.ts';

export { isUniqueViolation } from './database-errors.ts';
export type { Queryable, Row, Transaction } from './queryable.ts';
export { longRunning, type Prepared, prepared } from './statements.ts';

/**
 * The maximum time in milliseconds to wait for a free connection of the pool. It is shorter than READ_MS, so that no
 * statement is sent for a caller whose read has already timed out.
 */
const CONNECT_MS = 1_500;

/**
 * A pool of connections to a service's database. While PostgreSQL does not respond, every call fails immediately with
 * UNAVAILABLE. Otherwise a read waits for up to two seconds, and a statement that may change data for up to five. The
 * pool never retries a statement that may have been executed in spite of an error.
 */
export interface Database extends Queryable {
  /** Runs `work` in a transaction, which is committed if `work` succeeds and rolled back if it throws. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** With several hosts the one that accepts writes is used (deploy/decisions/0026-failover.md). */
  url: string;
  /** True if statements may be prepared; false with a transaction pooler, which runs transactions in any session. */
  mayPrepare?: boolean;
  /** How long, in milliseconds, a connection uses the plans of prepared statements. */
  maxPlanAgeMs?: number;
  poolMax: number;
  /** The name of the service, shown in pg_stat_activity. */
  name: string;
  metrics: Metrics;
  log: Logger;
  /** The circuit breakers of the process; the pool creates its own if left out. */
  breakers?: Breakers;
}

/** Creates a pool of database connections; each connection is opened when it is first needed. */
export function openDatabase(options: DatabaseOptions): Database {
  const { metrics, log } = options;
  const pool = createPool(options);
  // When PostgreSQL stops responding, the connections are replaced, because idle ones may be dead without notice: every
  // caller that got one of them would wait until a timeout.
  const stoppedResponding = () => pool.replace();
  const breakers = options.breakers ?? new Breakers(metrics);
  const breaker = breakers.create('postgres', () => true, DATABASE_BREAKER);
  const doubt = () => pool.doubt();
  const health = new DatabaseHealth({
    url: () => pool.url,
    name: options.name,
    breaker,
    log,
    stoppedResponding,
    doubt,
  });
  const wait = metrics.duration('postgres_pool_wait_seconds', 'Time that callers waited for a database connection');
  const failures = metrics.counter('postgres_pool_failures_total', 'Callers that could not get a database connection');
  const seconds = metrics.duration('postgres_statement_seconds', 'Time from sending a statement until its response');
  watchPool(() => pool.current, options);
  const connect = async () => {
    if (health.isDown) {
      failures.inc();
      throw new ApiError('UNAVAILABLE', { cause: new Error('PostgreSQL does not respond') });
    }
    const stopTimer = wait.startTimer();
    const client = await health.watch(pool.connect()).catch((cause: unknown) => {
      failures.inc();
      pool.doubt();
      throw new ApiError('UNAVAILABLE', { cause });
    });
    stopTimer();
    return client;
  };
  const plans = (options.mayPrepare ?? true) ? new CachedPlans(options.maxPlanAgeMs) : undefined;
  const isDistributed = distributionReader();
  const use: Use = async (work) => {
    const client = await connect();
    const connection = new Connection({ client, plans, health, seconds, isDistributed });
    try {
      return await work(connection);
    } finally {
      client.release(connection.isBroken);
    }
  };
  const query: Queryable['query'] = (statement, values) => {
    const rows = use((connection) => connection.query<never>(statement, values));
    return isRead(statement) ? withReadTimeout(rows) : rows;
  };
  let closed: Promise<void> | undefined;
  return {
    query,
    isDistributed: () => isDistributed({ query }),
    transaction: (work) => use((connection) => transaction(connection, work)),
    close: () => {
      breaker.stop();
      return (closed ??= pool.end());
    },
  };
}

function createPool({ url, name, log, metrics, poolMax }: DatabaseOptions): PrimaryPool {
  const settings = {
    max: poolMax,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: 2 * STATEMENT_MS,
    keepAlive: true,
    types: { getTypeParser },
  };
  return new PrimaryPool({ url, name, log, metrics, settings });
}

/**
 * Waits for the rows of a read. Throws UNAVAILABLE after READ_MS. The abandoned read keeps its connection until
 * PostgreSQL responds, so that callers cannot cause more concurrent slow reads than the pool has connections.
 */
async function withReadTimeout<Rows>(rows: Promise<Rows>): Promise<Rows> {
  try {
    return await within(READ_MS, rows);
  } catch (error) {
    if (error instanceof DeadlineError) throw new ApiError('UNAVAILABLE', { cause: error });
    // The stack trace is captured again, because that of the original error does not show the caller.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
}

/** Runs `work` on a connection of the pool and releases the connection afterwards. */
type Use = <Result>(work: (connection: Connection) => Promise<Result>) => Promise<Result>;

function watchPool(current: () => Pool, { metrics, poolMax }: DatabaseOptions): void {
  metrics.gauge('postgres_pool_connections_max', 'Maximum number of database connections of the pool').set(poolMax);
  metrics.gauge(
    'postgres_pool_connections',
    'Database connections by state (used, idle), and callers that wait for one (waiting)',
    ['state'],
    (gauge) => {
      const pool = current();
      gauge.set({ state: 'used' }, pool.totalCount - pool.idleCount);
      gauge.set({ state: 'idle' }, pool.idleCount);
      gauge.set({ state: 'waiting' }, pool.waitingCount);
    },
  );
}
