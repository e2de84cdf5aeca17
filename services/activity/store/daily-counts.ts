import { byGuild, guildOf, itself } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';

/** The kinds of rows of which a guild may add only a limited number a day. */
export type DailyKind = 'actions' | 'sessions' | 'server_starts' | 'deliveries';

/**
 * Adds `added`, which is at most `max`, to a guild's count for the day (UTC) of `now`. Returns false and changes nothing if
 * the count would exceed `max`. The count stays locked until the transaction ends, so call this function last in a
 * transaction.
 */
export async function addToDay(
  transaction: Queryable,
  guildId: string,
  kind: DailyKind,
  max: number,
  now: Date,
  added = 1,
): Promise<boolean> {
  const counted = await transaction.query(
    `INSERT INTO activity.daily_counts AS counts (guild_id, kind, day, added)
     VALUES ($1, $2, date_trunc('day', $3::timestamptz, 'UTC'), $5)
     ON CONFLICT (guild_id, kind, day) DO UPDATE SET added = counts.added + excluded.added
       WHERE counts.added + excluded.added <= $4
     RETURNING added`,
    [guildId, kind, now, max, added],
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

/** Returns how many rows of a kind each guild has added on the day (UTC) of `now`; guilds without any are left out. */
export async function readDays(
  on: Queryable,
  guildIds: readonly string[],
  kind: DailyKind,
  now: Date,
): Promise<Map<string, number>> {
  const rows = await byGuild(on, guildIds, itself, (part) =>
    on.query<{ guildId: string; added: number }>(
      `SELECT guild_id AS "guildId", added FROM activity.daily_counts
       WHERE guild_id = ANY($1) AND kind = $2 AND day = date_trunc('day', $3::timestamptz, 'UTC')`,
      [part, kind, now],
    ),
  );
  return new Map(rows.map(({ guildId, added }) => [guildId, added]));
}

/**
 * Adds to the counts of guilds for the day (UTC) of `now`, without a maximum. A caller that enforces one must hold a lock
 * of the guilds from reading the counts until the transaction ends.
 */
export async function addToDays(
  transaction: Queryable,
  counts: readonly { guildId: string; added: number }[],
  kind: DailyKind,
  now: Date,
): Promise<void> {
  await byGuild(transaction, counts, guildOf, (part) =>
    transaction.query(
      `INSERT INTO activity.daily_counts AS counts (guild_id, kind, day, added)
       SELECT guild_id, $3, date_trunc('day', $4::timestamptz, 'UTC'), added
       FROM unnest($1::text[], $2::int[]) AS given (guild_id, added) ORDER BY guild_id
       ON CONFLICT (guild_id, kind, day) DO UPDATE SET added = counts.added + excluded.added`,
      [part.map(guildOf), part.map(({ added }) => added), kind, now],
    ),
  );
}
