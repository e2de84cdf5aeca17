import { type ClientBase, DatabaseError, Pool, type PoolClient, types } from 'pg';
import { ApiError } from './errors.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';

const CONNECT_MS = 2_000;
const STATEMENT_MS = 5_000;
/** A little later than the server's own limit: reached only when the connection is deaf. */
const DEAF_MS = STATEMENT_MS + 1_000;

export type Row = Record<string, unknown>;

/** What statements run on: a pool, or one transaction of it. */
export interface Queryable {
  /** The rows of one statement. UNAVAILABLE when the database can't be reached or is too slow. */
  query<Result extends object = Row>(text: string, values?: readonly unknown[]): Promise<Result[]>;
}

/** A pool of connections to a service's database. */
export interface Database extends Queryable {
  /** Commits what the work did, or rolls all of it back when it throws. */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
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
    query_timeout: DEAF_MS,
    idle_in_transaction_session_timeout: 2 * STATEMENT_MS,
    keepAlive: true,
    types: { getTypeParser },
  });
  pool.on('error', (error) => options.log.warn({ error: error.message }, 'an idle database connection was lost'));
  const wait = options.metrics.duration('postgres_pool_wait_seconds', 'Time until a connection was free');
  watchPool(pool, options.metrics);
  const connect = async () => {
    const waited = wait.startTimer();
    const client = await pool.connect().catch(unreachable);
    waited();
    return client;
  };
  return {
    query: (text, values) => withClient(connect, (client) => run(client, text, values)),
    transaction: (work) => withClient(connect, (client) => transaction(client, work)),
    close: () => pool.end(),
  };
}

/** Whether a write was refused by a unique constraint, or by the one named. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || error.code !== '23505') return false;
  return constraint === undefined || error.constraint === constraint;
}

async function withClient<Result>(
  connect: () => Promise<PoolClient>,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await connect();
  let broken = false;
  try {
    return await work(client);
  } catch (error) {
    broken = error instanceof ApiError && error.code === 'UNAVAILABLE';
    throw error;
  } finally {
    client.release(broken);
  }
}

async function run<Result>(client: ClientBase, text: string, values?: readonly unknown[]): Promise<Result[]> {
  const result = await client.query(text, values as unknown[]).catch(rethrow);
  return result.rows as Result[];
}

async function transaction<Result>(
  client: PoolClient,
  work: (transaction: Queryable) => Promise<Result>,
): Promise<Result> {
  await run(client, 'BEGIN');
  try {
    const result = await work({ query: (text, values) => run(client, text, values) });
    await run(client, 'COMMIT');
    return result;
  } catch (error) {
    // A connection that can't roll back is thrown away, which rolls back too.
    await client.query('ROLLBACK').catch((cause: unknown) => {
      throw new ApiError('UNAVAILABLE', { cause });
    });
    throw error;
  }
}

/** Whatever keeps us from a connection, a refused password too, is no fault of the statement. */
function unreachable(error: unknown): never {
  throw new ApiError('UNAVAILABLE', { cause: error });
}

/** What the database refuses for the statement's sake stays as it is; all else means that it can't serve now. */
function rethrow(error: unknown): never {
  if (error instanceof DatabaseError && !isOutage(error.code ?? '')) throw error;
  throw new ApiError('UNAVAILABLE', { cause: error });
}

/** Connection exceptions, insufficient resources, operator intervention (statement time-outs too), system errors. */
function isOutage(sqlState: string): boolean {
  return ['08', '53', '57', '58'].includes(sqlState.slice(0, 2));
}

const INT8 = 20;

/** 64-bit integers are read as numbers: IDs beyond 2^53 are stored as text. */
const getTypeParser = ((oid: number, format?: 'text' | 'binary') =>
  oid === INT8 && format !== 'binary' ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser;

function watchPool(pool: Pool, metrics: Metrics): void {
  metrics.gauge('postgres_pool_connections', 'Connections of the pool, and callers that wait', ['state'], (gauge) => {
    gauge.set({ state: 'used' }, pool.totalCount - pool.idleCount);
    gauge.set({ state: 'idle' }, pool.idleCount);
    gauge.set({ state: 'waiting' }, pool.waitingCount);
  });
}
