import type { Queryable } from '#kit/postgres/pool.ts';
import { SILENCE_SECONDS } from './sessions.ts';

/** The live game servers of a guild. */
export interface ServerCounts {
  servers: number;
  players: number;
}

/** Counts up to `limit` live servers of a guild, and the players on them. */
export async function countLive(on: Queryable, guildId: string, limit: number, now: Date): Promise<ServerCounts> {
  const [row] = await on.query<ServerCounts>(
    `SELECT count(*)::int AS servers, coalesce(sum(player_count), 0)::bigint AS players FROM (
       SELECT player_count FROM activity.servers WHERE guild_id = $1 AND is_counted AND live_until > $2
       ORDER BY server_id LIMIT $3
     ) AS live`,
    [guildId, now, limit],
  );
  return row ?? { servers: 0, players: 0 };
}

/** Counts up to `limit` staff sessions of a guild that have not ended. */
export async function countOpenSessions(on: Queryable, guildId: string, limit: number, now: Date): Promise<number> {
  const silentSince = new Date(now.getTime() - SILENCE_SECONDS * 1000);
  const [row] = await on.query<{ sessions: number }>(
    `SELECT count(*)::int AS sessions FROM (
       SELECT beat_at FROM activity.sessions WHERE guild_id = $1 AND ended_at IS NULL
       ORDER BY started_at, session_id LIMIT $2
     ) AS open WHERE beat_at >= $3`,
    [guildId, limit, silentSince],
  );
  return row?.sessions ?? 0;
}

/** A version of the plugin, and the number of live servers that run it. */
export interface PluginVersion {
  /** null if the servers did not report a version. */
  version: string | null;
  servers: number;
}

/** Returns the plugin versions of up to `limit` live servers of a guild, the most frequent first. */
export function listPluginVersions(on: Queryable, guildId: string, limit: number, now: Date): Promise<PluginVersion[]> {
  return on.query(
    `SELECT plugin_version AS version, count(*)::int AS servers FROM (
       SELECT plugin_version FROM activity.servers WHERE guild_id = $1 AND is_counted AND live_until > $2
       ORDER BY server_id LIMIT $3
     ) AS live GROUP BY plugin_version ORDER BY servers DESC, plugin_version LIMIT 100`,
    [guildId, now, limit],
  );
}

/** What is known of the servers that a guild had before. */
export interface EarlierServers {
  /** The newest heartbeat of up to `limit` stored servers; null if none is stored. */
  heartbeatAt: Date | null;
  /** True if a place of a game was registered. */
  hasGame: boolean;
}

/** Returns when servers of a guild last sent heartbeats. Servers are stored for an hour after they were live. */
export async function findEarlierServers(on: Queryable, guildId: string, limit: number): Promise<EarlierServers> {
  const [row] = await on.query<EarlierServers>(
    `SELECT (SELECT max(heartbeat_at) FROM (
         SELECT heartbeat_at FROM activity.servers WHERE guild_id = $1 ORDER BY server_id LIMIT $2
       ) AS stored) AS "heartbeatAt",
       EXISTS (SELECT FROM activity.games WHERE guild_id = $1) AS "hasGame"`,
    [guildId, limit],
  );
  return row ?? { heartbeatAt: null, hasGame: false };
}
