import type { Queryable } from '#kit/postgres/pool.ts';

/** The kinds of rows of which a guild may add only a limited number a day. */
export type DailyKind = 'actions' | 'sessions';

/**
 * Increments a guild's count for the day (UTC) of `now`. Returns false and changes nothing if the count has reached
 * `max`. The count stays locked until the transaction ends, so call this function last in a transaction.
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

/** Returns how many rows of a kind a guild has added on the day (UTC) of `now`. */
export async function readDay(on: Queryable, guildId: string, kind: DailyKind, now: Date): Promise<number> {
  const [row] = await on.query<{ added: number }>(
    `SELECT added FROM activity.daily_counts
     WHERE guild_id = $1 AND kind = $2 AND day = date_trunc('day', $3::timestamptz, 'UTC')`,
    [guildId, kind, now],
  );
  return row?.added ?? 0;
}
