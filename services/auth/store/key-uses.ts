import { byGuild, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { KeyRef } from '../domain/key.ts';

/** A use of an API key. */
export interface KeyUse extends KeyRef {
  usedAt: Date;
}

const RECORD_USE = guildStatement(
  4,
  (andGuild) => `WITH used AS (
       SELECT guild_id, number, least(max(used_at), $4) AS used_at
       FROM unnest($1::text[], $2::integer[], $3::timestamptz[]) AS u (guild_id, number, used_at)
       GROUP BY guild_id, number),
     locked AS (
       SELECT k.guild_id, k.number, used.used_at FROM auth.keys k JOIN used USING (guild_id, number)
       WHERE (k.last_used_at IS NULL OR k.last_used_at <= used.used_at - interval '1 minute') ${andGuild('k')}
       ORDER BY k.guild_id, k.number FOR NO KEY UPDATE OF k)
     UPDATE auth.keys k SET last_used_at = locked.used_at
     FROM locked WHERE k.guild_id = locked.guild_id AND k.number = locked.number ${andGuild('k')}`,
);

/**
 * Updates `last_used_at` of API keys to the latest reported use, at most `now`, if that is a minute or more after the stored
 * time. So the row of a key is updated at most once a minute, however many gateways report uses, and `last_used_at` is at most two
 * minutes earlier than the last use.
 */
export async function recordUse(database: Queryable, uses: readonly KeyUse[], now: Date): Promise<void> {
  await byGuild(database, uses, guildOf, (part, run) =>
    run(RECORD_USE, [part.map(guildOf), part.map((use) => use.number), part.map((use) => use.usedAt), now]),
  );
}
