import { performance } from 'node:perf_hooks';
import { type ClientBase, DatabaseError, type Pool, type QueryConfig, type QueryResult } from 'pg';
import type { Histogram } from 'prom-client';
import { ApiError } from '../errors.ts';
import { Breakers } from '../resilience/breaker.ts';
import { DeadlineError, within } from '../resilience/deadline.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { recordedSpan } from '../telemetry/tracing/current-span.ts';
import { isNodeUnreachable, isRejectedStatement, isRetryable, isUniqueViolation } from './database-errors.ts';
import { distributionReader } from './distribution.ts';
import { DATABASE_BREAKER, DatabaseHealth } from './health.ts';
import { PrimaryPool } from './hosts/primary-pool.ts';
import { describeStatement, isRead, type Statement } from './statements.ts';
import { getTypeParser } from './type-parser.ts';

export { isUniqueViolation } from './database-errors.ts';
export { longRunning, type Prepared, prepared } from './statements.ts';

/**
 * The maximum time in milliseconds to wait for a free connection of the pool. It is shorter than READ_MS, so that no
 * statement is sent for a caller whose read has already timed out.
 */
const CONNECT_MS = 1_500;
/**
 * The timeout in milliseconds of a BEGIN, and of a read outside of a transaction including the wait for a connection. A
 * BEGIN or a read can be abandoned safely, because it changes nothing. With this timeout clients of the API get a
 * response within two seconds, even if one service waits for a read of another service. The deadline of a call between
 * services must be longer, so that the called service can report the timeout.
 */
const READ_MS = 1_600;
const STATEMENT_MS = 5_000;
/**
 * The maximum wait in milliseconds for the response to a statement. It is longer than PostgreSQL's own statement
 * timeout, so it is only reached if the connection is lost without notice.
 */
const NO_RESPONSE_MS = STATEMENT_MS + 1_000;

export type Row = Record<string, unknown>;

/** Runs SQL statements, either on any connection of a pool or in one transaction. */
export interface Queryable {
  /**
   * Runs an SQL statement and returns its rows. Throws UNAVAILABLE if the database cannot be reached or is too slow.
   */
  query<Result extends object = Row>(statement: Statement, values?: readonly unknown[]): Promise<Result[]>;
  /** Returns whether Citus distributes the tables over several nodes; not if left out. */
  isDistributed?(): Promise<boolean>;
}

/** A transaction that has begun. */
export interface Transaction extends Queryable {
  /**
   * Registers a function that is called after the commit, and after an error that leaves open if the commit succeeded.
   * It must not throw.
   */
  afterCommit(callback: () => void): void;
}

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
  const mayPrepare = options.mayPrepare ?? true;
  const isDistributed = distributionReader();
  const use: Use = async (work) => {
    const client = await connect();
    const connection = new Connection({ client, mayPrepare, health, seconds, isDistributed });
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

interface ConnectionOptions {
  client: ClientBase;
  mayPrepare: boolean;
  health: DatabaseHealth;
  /** The duration of each statement, also of those that fail. */
  seconds: Histogram;
  isDistributed: (on: Queryable) => Promise<boolean>;
}

/** One database connection while a caller has it checked out of the pool. */
class Connection implements Transaction {
  readonly #client: ClientBase;
  readonly #mayPrepare: boolean;
  readonly #health: DatabaseHealth;
  readonly #seconds: Histogram;
  readonly isDistributed: () => Promise<boolean>;
  /**
   * True if the state of the database connection is unknown: it is then closed, which also rolls back its transaction.
   */
  isBroken = false;
  readonly #committed: (() => void)[] = [];

  constructor({ client, mayPrepare, health, seconds, isDistributed }: ConnectionOptions) {
    this.isDistributed = () => isDistributed(this);
    this.#client = client;
    this.#mayPrepare = mayPrepare;
    this.#health = health;
    this.#seconds = seconds;
  }

  async query<Result extends object = Row>(statement: Statement, values?: readonly unknown[]): Promise<Result[]> {
    return (await this.run(statement, values)).rows as Result[];
  }

  afterCommit(callback: () => void): void {
    this.#committed.push(callback);
  }

  /** Calls the functions that were registered with `afterCommit`. */
  committed(): void {
    for (const callback of this.#committed.splice(0)) callback();
  }

  /** Runs an SQL statement. If no response arrives within `milliseconds`, the connection is marked as broken. */
  run(statement: Statement, values?: readonly unknown[], milliseconds = NO_RESPONSE_MS): Promise<QueryResult> {
    const span = recordedSpan();
    if (!span) return this.#run(statement, values, milliseconds);
    const work = () => this.#run(statement, values, milliseconds);
    return span.call(describeStatement(statement), work, { isExpected: isUniqueViolation });
  }

  async #run(statement: Statement, values: readonly unknown[] | undefined, milliseconds: number): Promise<QueryResult> {
    // A broken database connection must not be used again, for example to commit a transaction with a failed statement.
    if (this.isBroken) throw new ApiError('UNAVAILABLE', { cause: new Error('the connection is broken') });
    const text = typeof statement === 'string' ? statement : statement.text;
    const name = typeof statement === 'object' && 'name' in statement && this.#mayPrepare ? statement.name : undefined;
    const started = performance.now();
    try {
      const result = await this.#health.watch(this.#send({ name, text, values } as QueryConfig, milliseconds));
      this.#health.responded();
      return result;
    } catch (error) {
      if (error instanceof DatabaseError) this.#health.responded();
      // The stack trace is captured again, to show the caller instead of the place where the response was parsed.
      if (error instanceof Error) Error.captureStackTrace(error);
      if (isRejectedStatement(error)) throw error;
      this.isBroken ||= !isRetryable(error) && !isNodeUnreachable(error);
      if (this.isBroken) this.#health.doubt();
      throw new ApiError('UNAVAILABLE', { cause: error });
    } finally {
      this.#seconds.observe((performance.now() - started) / 1000);
    }
  }

  /**
   * Sends a statement to PostgreSQL with a callback and our own timeout, because pg's promises and query_timeout keep
   * the rows in memory (deploy/decisions/0009-query-callbacks.md).
   */
  #send(config: QueryConfig, milliseconds: number): Promise<QueryResult> {
    const response = new Promise<QueryResult>((resolve, reject) => {
      this.#client.query(config, (error, result) => (error ? reject(error) : resolve(result)));
    });
    return within(milliseconds, response);
  }
}

async function transaction<Result>(
  connection: Connection,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  await connection.run('BEGIN', undefined, READ_MS);
  try {
    const result = await work(connection);
    // If the response to COMMIT is lost, the transaction may have been committed all the same.
    const { command } = await connection.run('COMMIT').catch((error: unknown) => {
      connection.committed();
      throw error;
    });
    // If a statement has failed and the work continued, PostgreSQL responds to COMMIT with ROLLBACK, without an error.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: one of its statements had failed');
    connection.committed();
    return result;
  } catch (error) {
    // A failed rollback marks the database connection as broken. The first error is thrown, because it is the cause.
    if (!connection.isBroken) await connection.run('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

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
