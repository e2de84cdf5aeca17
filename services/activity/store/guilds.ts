import type { Queryable } from '#kit/postgres/pool.ts';

/** What is counted for a guild. */
export interface GuildCounts {
  guildId: string;
  /** Servers that are counted as live; some of them may be past their end since `nextLapseAt`. */
  liveServers: number;
  /** No server is past its end before this; null where none is counted. */
  nextLapseAt: Date | null;
}

const COUNTS = `guild_id AS "guildId", live_servers AS "liveServers", next_lapse_at AS "nextLapseAt"`;

/**
 * Locks guilds until the transaction ends, always in the same order. Under this lock servers are admitted and commands
 * are sent, so that both are in one order for everybody.
 */
export async function lockGuilds(transaction: Queryable, guildIds: readonly string[]): Promise<GuildCounts[]> {
  await transaction.query(
    `INSERT INTO activity.guilds (guild_id) SELECT unnest($1::text[]) ORDER BY 1 ON CONFLICT (guild_id) DO NOTHING`,
    [guildIds],
  );
  return transaction.query(
    `SELECT ${COUNTS} FROM activity.guilds WHERE guild_id = ANY($1) ORDER BY guild_id FOR UPDATE`,
    [guildIds],
  );
}

/**
 * Frees the places of servers that are past their end and counts the guild's servers again: at most as many as may be
 * live. The guilds must be locked. A server that is being written at this moment keeps its place.
 */
export async function sweepGuilds(
  transaction: Queryable,
  guildIds: readonly string[],
  now: Date,
): Promise<GuildCounts[]> {
  await transaction.query(
    `WITH lapsed AS (
       SELECT guild_id, server_id FROM activity.servers
       WHERE guild_id = ANY($1) AND is_counted AND live_until <= $2 FOR UPDATE SKIP LOCKED
     )
     UPDATE activity.servers SET is_counted = false, players = NULL FROM lapsed
     WHERE servers.guild_id = lapsed.guild_id AND servers.server_id = lapsed.server_id`,
    [guildIds, now],
  );
  return transaction.query(
    `UPDATE activity.guilds SET live_servers = counted.servers, next_lapse_at = counted.lapse
     FROM unnest($1::text[]) AS swept (guild_id) CROSS JOIN LATERAL (
       SELECT count(*)::int AS servers, min(live_until) AS lapse FROM activity.servers
       WHERE servers.guild_id = swept.guild_id AND is_counted
     ) AS counted
     WHERE guilds.guild_id = swept.guild_id
     RETURNING guilds.${COUNTS}`,
    [guildIds],
  );
}
