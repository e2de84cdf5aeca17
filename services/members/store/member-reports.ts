import type { Queryable } from '#kit/postgres/pool.ts';

/**
 * Counts `reports` reported changes of members of each guild. Returns the number of changes within this hour by guild,
 * without guilds that do not use this service. Counters are locked in the order of guild IDs, so that transactions about
 * several guilds do not deadlock.
 */
export async function countReports(
  transaction: Queryable,
  guilds: readonly { guildId: string; reports: number }[],
): Promise<Map<string, number>> {
  const rows = await transaction.query<{ guildId: string; count: number }>(
    `INSERT INTO members.member_reports AS report (guild_id, hour, count)
     SELECT counted.guild_id, date_trunc('hour', clock_timestamp(), 'UTC'), reports
     FROM unnest($1::text[], $2::int[]) AS counted (guild_id, reports)
     JOIN members.mirror_guilds AS used ON used.guild_id = counted.guild_id AND used_at IS NOT NULL
     ORDER BY counted.guild_id
     ON CONFLICT (guild_id) DO UPDATE SET hour = excluded.hour,
       count = CASE WHEN report.hour = excluded.hour THEN report.count ELSE 0 END + excluded.count
     RETURNING guild_id AS "guildId", count`,
    [guilds.map(({ guildId }) => guildId), guilds.map(({ reports }) => reports)],
  );
  return new Map(rows.map(({ guildId, count }) => [guildId, count]));
}
