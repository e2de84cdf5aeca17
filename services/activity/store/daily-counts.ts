import type { Queryable } from '#kit/postgres/pool.ts';

/** What is limited per guild and day. */
export type DailyKind = 'actions' | 'sessions';

/**
 * Counts one more for the day (UTC) that `now` lies in; false, and nothing is counted, when the guild has `max` already.
 * Others who count for the guild wait until the transaction ends, so it belongs at the end of one.
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
