import type { Queryable } from '#kit/postgres/pool.ts';

/** The kinds of rows with a daily quota. */
export type DailyKind = 'actions' | 'sessions';

/**
 * Increments the count of the day (UTC) that `now` is in. Returns false and changes nothing if the count is `max`
 * already. It locks the count until the transaction ends, so call it at the end of a transaction.
 */
export async function addToDay(
  transaction: Queryable,
  guildId: string,
  kind: DailyKind,
  max: number,
  now: Date,
): Promise<boolean> {
  const counted = await transaction.query(
    `INSERT INTO activity.daily_counts AS counts (guild_id, kind, day, added)
     VALUES ($1, $2, date_trunc('day', $3::timestamptz, 'UTC'), 1)
     ON CONFLICT (guild_id, kind, day) DO UPDATE SET added = counts.added + 1 WHERE counts.added < $4
     RETURNING added`,
    [guildId, kind, now, max],
  );
  return counted.length > 0;
}
