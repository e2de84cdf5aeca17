import { type ClientBase, DatabaseError, Pool, type QueryConfig, type QueryResult, types } from 'pg';
import { ApiError } from '../errors.ts';
import { Breakers } from '../resilience/breaker.ts';
import { DeadlineError, within } from '../resilience/deadline.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { DATABASE_BREAKER, DatabaseHealth } from './health.ts';
import { isRead, type Statement } from './statements.ts';

export { longRunning, type Prepared, prepared } from './statements.ts';

/** Less than a read may take, so that no statement is sent for a caller who has given up. */
const CONNECT_MS = 1_500;
/**
 * How long a caller waits for a read outside of a transaction, the wait for a connection included, and for a BEGIN.
 * Nothing is in doubt when they are given up. A caller of the API has its response within two seconds, also where one
 * service waits for the read of another, whose deadline must therefore be longer than this.
 */
const READ_MS = 1_600;
const STATEMENT_MS = 5_000;
/** A little later than the server's own limit: reached only when the connection is deaf. */
const DEAF_MS = STATEMENT_MS + 1_000;

export type Row = Record<string, unknown>;

/** What statements run on: a pool, or one transaction of it. */
export interface Queryable {
  /** The rows of one statement. UNAVAILABLE when the database can't be reached or is too slow. */
  query<Result extends object = Row>(statement: Statement, values?: readonly unknown[]): Promise<Result[]>;
}

/**
 * A pool of connections to a service's database. While PostgreSQL does not respond all is UNAVAILABLE at once. Otherwise a
 * read waits up to two seconds, and anything that may change something as long as PostgreSQL needs: up to five seconds a
 * statement. What may have been done in spite of an error is never tried again here.
 */
export interface Database extends Queryable {
  /** Commits what the work did, or rolls all of it back when it throws. */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  /** Whether connections keep prepared statements: not through a pooler that changes sessions between transactions. */
  mayPrepare?: boolean;
  poolMax: number;
  /** Shown in pg_stat_activity. */
  name: string;
  metrics: Metrics;
  log: Logger;
  /** Those of the process; some of its own when left out. */
  breakers?: Breakers;
}

/** Opens a pool; connections are made when they are needed. */
export function openDatabase(options: DatabaseOptions): Database {
  const { metrics, log } = options;
  let pool = createPool(options);
  // What is idle may be dead without knowing it: the first callers after a hang would wait for it in vain.
  const stoppedResponding = () => {
    const old = pool;
    pool = createPool(options);
    void old.end();
  };
  const breakers = options.breakers ?? new Breakers(metrics);
  const breaker = breakers.create('postgres', () => true, DATABASE_BREAKER);
  const health = new DatabaseHealth({ url: options.url, name: options.name, breaker, log, stoppedResponding });
  const wait = metrics.duration('postgres_pool_wait_seconds', 'Time until a connection was free');
  const failures = metrics.counter('postgres_pool_failures_total', 'Callers that got no connection');
  watchPool(() => pool, options);
  const connect = async () => {
    if (health.isDown) throw new ApiError('UNAVAILABLE', { cause: new Error('PostgreSQL does not respond') });
    const waited = wait.startTimer();
    const client = await health.watch(pool.connect()).catch((cause: unknown) => {
      failures.inc();
      throw new ApiError('UNAVAILABLE', { cause });
    });
    waited();
    return client;
  };
  const mayPrepare = options.mayPrepare ?? true;
  const use: Use = async (work) => {
    const client = await connect();
    const connection = new Connection(client, mayPrepare, health);
    try {
      return await work(connection);
    } finally {
      client.release(connection.isBroken);
    }
  };
  let closed: Promise<void> | undefined;
  return {
    query: (statement, values) => {
      const rows = use((connection) => connection.query<never>(statement, values));
      return isRead(statement) ? inTime(rows) : rows;
    },
    transaction: (work) => use((connection) => transaction(connection, work)),
    close: () => {
      breaker.stop();
      return (closed ??= pool.end());
    },
  };
}

function createPool(options: DatabaseOptions): Pool {
  const pool = new Pool({
    connectionString: options.url,
    application_name: options.name,
    max: options.poolMax,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: 2 * STATEMENT_MS,
    keepAlive: true,
    types: { getTypeParser },
  });
  pool.on('error', (error) => options.log.warn({ error: error.message }, 'an idle database connection was lost'));
  // A connection that is lost while it is in use tells its next statement; without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * A read's rows within its time. One that is given up keeps its connection until PostgreSQL has responded, so that callers
 * who provoke slow reads cannot make it work on more of them than the pool has connections.
 */
async function inTime<Rows>(rows: Promise<Rows>): Promise<Rows> {
  try {
    return await within(READ_MS, rows);
  } catch (error) {
    if (error instanceof DeadlineError) throw new ApiError('UNAVAILABLE', { cause: error });
    // Where the statement was sent from, which `within` hides.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
}

/** Whether a write was refused by a unique constraint, or by the one named. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || error.code !== '23505') return false;
  return constraint === undefined || error.constraint === constraint;
}

/** Does some work on a connection of the pool. */
type Use = <Result>(work: (connection: Connection) => Promise<Result>) => Promise<Result>;

/** One connection while it is taken from the pool. */
class Connection implements Queryable {
  readonly #client: ClientBase;
  readonly #mayPrepare: boolean;
  readonly #health: DatabaseHealth;
  /** Set when it can't be trusted any more: it is thrown away then, which also rolls back what was begun. */
  isBroken = false;

  constructor(client: ClientBase, mayPrepare: boolean, health: DatabaseHealth) {
    this.#client = client;
    this.#mayPrepare = mayPrepare;
    this.#health = health;
  }

  async query<Result extends object = Row>(statement: Statement, values?: readonly unknown[]): Promise<Result[]> {
    return (await this.run(statement, values)).rows as Result[];
  }

  /** `milliseconds`: after which the connection is given up. */
  async run(statement: Statement, values?: readonly unknown[], milliseconds = DEAF_MS): Promise<QueryResult> {
    // What is thrown away must not do anything more, such as commit what a statement failed in.
    if (this.isBroken) throw new ApiError('UNAVAILABLE', { cause: new Error('the connection is broken') });
    const text = typeof statement === 'string' ? statement : statement.text;
    const name = typeof statement === 'object' && 'name' in statement && this.#mayPrepare ? statement.name : undefined;
    try {
      const result = await this.#health.watch(this.#send({ name, text, values } as QueryConfig, milliseconds));
      this.#health.responded();
      return result;
    } catch (error) {
      if (error instanceof DatabaseError) this.#health.responded();
      // Where the statement was asked, not where its answer was read.
      if (error instanceof Error) Error.captureStackTrace(error);
      if (isRefusal(error)) throw error;
      this.isBroken ||= !isRetryable(error);
      throw new ApiError('UNAVAILABLE', { cause: error });
    }
  }

  /** With a callback and a deadline of our own: with pg's, a query and its rows outlive their answer (decision 9). */
  #send(config: QueryConfig, milliseconds: number): Promise<QueryResult> {
    const answer = new Promise<QueryResult>((resolve, reject) => {
      this.#client.query(config, (error, result) => (error ? reject(error) : resolve(result)));
    });
    return within(milliseconds, answer);
  }
}

async function transaction<Result>(
  connection: Connection,
  work: (transaction: Queryable) => Promise<Result>,
): Promise<Result> {
  await connection.run('BEGIN', undefined, READ_MS);
  try {
    const result = await work(connection);
    const { command } = await connection.run('COMMIT');
    // PostgreSQL answers so, and without an error, when a statement had failed and the work went on.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: one of its statements had failed');
    return result;
  } catch (error) {
    // What can't be rolled back makes the connection broken, and the first error is the one to tell.
    if (!connection.isBroken) await connection.run('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** What is refused for the statement's or a value's sake; all else means that the database can't serve now. */
function isRefusal(error: unknown): boolean {
  if (error instanceof DatabaseError) return !isOutage(error) && !isRetryable(error) && !isForgotten(error);
  return error instanceof TypeError || error instanceof RangeError;
}

/**
 * Connection exceptions, insufficient resources, operator intervention (statement time-outs too), system errors, and
 * a server that has become read-only or has ended the session.
 */
function isOutage({ code = '', severity }: DatabaseError): boolean {
  return severity === 'FATAL' || code === READ_ONLY || ['08', '53', '57', '58'].includes(code.slice(0, 2));
}

/** Deadlocks and the like: the statement was unlucky, the connection is sound. */
function isRetryable(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code?.startsWith('40') || error.code === LOCK_NOT_AVAILABLE);
}

/** What was prepared is gone, or its columns have changed since: a new connection prepares it anew. */
function isForgotten({ code, routine }: DatabaseError): boolean {
  // By the place in PostgreSQL that tells it: the text is in the server's language.
  const hasChanged = code === NOT_SUPPORTED && routine === 'RevalidateCachedQuery';
  return code === NO_SUCH_STATEMENT || code === SAME_STATEMENT || hasChanged;
}

const NO_SUCH_STATEMENT = '26000';
const SAME_STATEMENT = '42P05';
const NOT_SUPPORTED = '0A000';
const READ_ONLY = '25006';
const LOCK_NOT_AVAILABLE = '55P03';
const INT8 = 20;
const INT8_ARRAY = 1016;

/** 64-bit integers, in arrays too, are read as numbers: IDs beyond 2^53 are stored as text. */
const getTypeParser = ((oid: number, format?: 'text' | 'binary') => {
  const usual = types.getTypeParser(oid, format);
  if (format === 'binary') return usual;
  if (oid === INT8) return Number;
  if (oid !== INT8_ARRAY) return usual;
  return (text: string) => (usual(text) as (string | null)[]).map((item) => (item === null ? null : Number(item)));
}) as typeof types.getTypeParser;

function watchPool(current: () => Pool, { metrics, poolMax }: DatabaseOptions): void {
  metrics.gauge('postgres_pool_connections_max', 'The most connections that the pool may have').set(poolMax);
  metrics.gauge('postgres_pool_connections', 'Connections of the pool, and callers that wait', ['state'], (gauge) => {
    const pool = current();
    gauge.set({ state: 'used' }, pool.totalCount - pool.idleCount);
    gauge.set({ state: 'idle' }, pool.idleCount);
    gauge.set({ state: 'waiting' }, pool.waitingCount);
  });
}
