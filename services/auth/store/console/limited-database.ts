import pLimit from 'p-limit';
import { ApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';

/** The maximum number of database connections that requests of the console use at a time. */
const MAX_CONCURRENT = 3;
/** The maximum number of requests of the console that wait for the database. */
const MAX_WAITING = 200;

/**
 * Returns a database that uses at most 3 connections of the pool at a time, so that keys are verified even while the
 * console is under attack. Throws UNAVAILABLE while too many requests wait.
 */
export function limitedDatabase(database: Database): Database {
  const limit = pLimit(MAX_CONCURRENT);
  const limited = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (limit.pendingCount >= MAX_WAITING) throw new ApiError('UNAVAILABLE');
    return limit(work);
  };
  return {
    query: (statement, values) => limited(() => database.query(statement, values)),
    transaction: (work) => limited(() => database.transaction(work)),
    close: () => database.close(),
  };
}
