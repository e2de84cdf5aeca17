import { createHash } from 'node:crypto';
import { type ClientBase, DatabaseError, Pool, type QueryConfig, type QueryResult, types } from 'pg';
import { within } from './deadline.ts';
import { ApiError } from './errors.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';

const CONNECT_MS = 2_000;
const STATEMENT_MS = 5_000;
/** A little later than the server's own limit: reached only when the connection is deaf. */
const DEAF_MS = STATEMENT_MS + 1_000;

export type Row = Record<string, unknown>;

/** A statement that each connection prepares once, and whose plan it keeps. */
export interface Prepared {
  readonly name: string;
  readonly text: string;
}

/**
 * For a constant text that is asked again and again. Its plan is made once and without the values, so the text must leave
 * PostgreSQL no choice: see deploy/decisions/0008.
 */
export function prepared(text: string): Prepared {
  // By the text, so that no session, whoever had it before, takes one for another.
  return { name: `p${createHash('sha256').update(text).digest('hex').slice(0, 32)}`, text };
}

/** What statements run on: a pool, or one transaction of it. */
export interface Queryable {
  /** The rows of one statement. UNAVAILABLE when the database can't be reached or is too slow. */
  query<Result extends object = Row>(statement: string | Prepared, values?: readonly unknown[]): Promise<Result[]>;
}

/** A pool of connections to a service's database. */
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
}

/** Opens a pool; connections are made when they are needed. */
export function openDatabase(options: DatabaseOptions): Database {
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
  const wait = options.metrics.duration('postgres_pool_wait_seconds', 'Time until a connection was free');
  const failures = options.metrics.counter('postgres_pool_failures_total', 'Callers that got no connection');
  watchPool(pool, options);
  const connect = async () => {
    const waited = wait.startTimer();
    const client = await pool.connect().catch((cause: unknown) => {
      failures.inc();
      throw new ApiError('UNAVAILABLE', { cause });
    });
    waited();
    return client;
  };
  const mayPrepare = options.mayPrepare ?? true;
  const use: Use = async (work) => {
    const client = await connect();
    const connection = new Connection(client, mayPrepare);
    try {
      return await work(connection);
    } finally {
      client.release(connection.isBroken);
    }
  };
  let closed: Promise<void> | undefined;
  return {
    query: (statement, values) => use((connection) => connection.query(statement, values)),
    transaction: (work) => use((connection) => transaction(connection, work)),
    close: () => (closed ??= pool.end()),
  };
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
  /** Set when it can't be trusted any more: it is thrown away then, which also rolls back what was begun. */
  isBroken = false;

  constructor(client: ClientBase, mayPrepare: boolean) {
    this.#client = client;
    this.#mayPrepare = mayPrepare;
  }

  async query<Result extends object = Row>(
    statement: string | Prepared,
    values?: readonly unknown[],
  ): Promise<Result[]> {
    return (await this.run(statement, values)).rows as Result[];
  }

  async run(statement: string | Prepared, values?: readonly unknown[]): Promise<QueryResult> {
    // What is thrown away must not do anything more, such as commit what a statement failed in.
    if (this.isBroken) throw new ApiError('UNAVAILABLE', { cause: new Error('the connection is broken') });
    const { name, text } = typeof statement === 'string' ? { text: statement } : statement;
    try {
      return await this.#send({ name: this.#mayPrepare ? name : undefined, text, values } as QueryConfig);
    } catch (error) {
      // Where the statement was asked, not where its answer was read.
      if (error instanceof Error) Error.captureStackTrace(error);
      if (isRefusal(error)) throw error;
      this.isBroken ||= !isRetryable(error);
      throw new ApiError('UNAVAILABLE', { cause: error });
    }
  }

  /** With a callback and a deadline of our own: with pg's, a query and its rows outlive their answer (decision 9). */
  #send(config: QueryConfig): Promise<QueryResult> {
    const answer = new Promise<QueryResult>((resolve, reject) => {
      this.#client.query(config, (error, result) => (error ? reject(error) : resolve(result)));
    });
    return within(DEAF_MS, answer);
  }
}

async function transaction<Result>(
  connection: Connection,
  work: (transaction: Queryable) => Promise<Result>,
): Promise<Result> {
  await connection.run('BEGIN');
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

function watchPool(pool: Pool, { metrics, poolMax }: DatabaseOptions): void {
  metrics.gauge('postgres_pool_connections_max', 'The most connections that the pool may have').set(poolMax);
  metrics.gauge('postgres_pool_connections', 'Connections of the pool, and callers that wait', ['state'], (gauge) => {
    gauge.set({ state: 'used' }, pool.totalCount - pool.idleCount);
    gauge.set({ state: 'idle' }, pool.idleCount);
    gauge.set({ state: 'waiting' }, pool.waitingCount);
  });
}
