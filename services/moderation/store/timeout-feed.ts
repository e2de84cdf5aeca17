import type { Queryable } from '#kit/postgres/pool.ts';

/** Returns the position of the reader of timeout changes; undefined while another process reads, or has just read. */
export async function leaseFeed(on: Queryable, holder: string, leaseMs: number): Promise<number | undefined> {
  const [row] = await on.query<{ position: number }>(
    `UPDATE moderation.timeout_feed SET holder = $1, leased_until = clock_timestamp() + $2 * interval '1 millisecond'
     WHERE leased_until <= clock_timestamp() RETURNING position`,
    [holder, leaseMs],
  );
  return row?.position;
}

/** Stores a new position, with the changes that follow from it. Throws if this process has lost the lease. */
export async function moveFeed(transaction: Queryable, holder: string, position: number): Promise<void> {
  const rows = await transaction.query(
    'UPDATE moderation.timeout_feed SET position = $2 WHERE holder = $1 RETURNING 1',
    [holder, position],
  );
  if (rows.length === 0) throw new Error('the lease of the feed of timeouts was lost');
}

/** Ends a lease. No process reads for the next `pauseMs`. */
export async function releaseFeed(on: Queryable, holder: string, pauseMs: number): Promise<void> {
  await on.query(
    `UPDATE moderation.timeout_feed SET holder = NULL, leased_until = clock_timestamp() + $2 * interval '1 millisecond'
     WHERE holder = $1`,
    [holder, pauseMs],
  );
}
