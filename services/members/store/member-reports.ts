import type { Queryable } from '#kit/postgres/pool.ts';

/**
 * Counts a reported change of a member. Returns the number of changes in the guild within this hour; undefined if the guild
 * does not use this service.
 */
export async function countReport(transaction: Queryable, guildId: string): Promise<number | undefined> {
  const [row] = await transaction.query<{ count: number }>(
    `INSERT INTO members.member_reports AS report (guild_id, hour, count)
     SELECT $1, date_trunc('hour', clock_timestamp(), 'UTC'), 1
     WHERE EXISTS (SELECT FROM members.mirror_guilds WHERE guild_id = $1 AND used_at IS NOT NULL)
     ON CONFLICT (guild_id) DO UPDATE SET hour = excluded.hour,
       count = CASE WHEN report.hour = excluded.hour THEN report.count + 1 ELSE 1 END
     RETURNING count`,
    [guildId],
  );
  return row?.count;
}
