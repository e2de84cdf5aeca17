import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';

/** Returns the time of the database's clock. */
export async function readTime(on: Queryable): Promise<Date> {
  const [row] = await on.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  if (!row) throw new ApiError('UNAVAILABLE');
  return row.now;
}
