import type { Queryable } from '#kit/postgres/pool.ts';
import { BEAT_COLUMNS, beatRow, byServer, type Heartbeat, INTERVAL, MISSED } from './servers.ts';

/** What is kept of a server when it comes, comes back or goes. */
export interface KnownServer {
  guildId: string;
  serverId: string;
  isCounted: boolean;
  heartbeatAt: Date;
  liveUntil: Date;
}

type Named = Pick<KnownServer, 'guildId' | 'serverId'>;

const guildsOf = (servers: readonly Named[]) => servers.map(({ guildId }) => guildId);
const namesOf = (servers: readonly Named[]) => servers.map(({ serverId }) => serverId);

/** What is kept of servers, locked until the transaction ends; unknown ones are left out. */
export function findServers(transaction: Queryable, servers: readonly Named[]): Promise<KnownServer[]> {
  const sorted = byServer(servers);
  return transaction.query(
    `SELECT known.* FROM unnest($1::text[], $2::text[]) AS asked (guild_id, server_id)
     CROSS JOIN LATERAL (
       SELECT guild_id AS "guildId", server_id AS "serverId", is_counted AS "isCounted",
         heartbeat_at AS "heartbeatAt", live_until AS "liveUntil"
       FROM activity.servers WHERE servers.guild_id = asked.guild_id AND servers.server_id = asked.server_id FOR UPDATE
     ) AS known`,
    [guildsOf(sorted), namesOf(sorted)],
  );
}

/**
 * Reserves for servers that come back the commands for several servers that were sent while they were live before: these
 * would be behind their new cursor. Their guilds and they themselves must be locked.
 */
export async function reserveCommands(transaction: Queryable, servers: readonly Named[], now: Date): Promise<void> {
  await transaction.query(
    `INSERT INTO activity.deliveries (guild_id, command_id, server_id, expires_at)
     SELECT servers.guild_id, command_id, servers.server_id, expires_at
     FROM unnest($1::text[], $2::text[]) AS back (guild_id, server_id)
     JOIN activity.servers ON servers.guild_id = back.guild_id AND servers.server_id = back.server_id
     JOIN activity.commands ON commands.guild_id = back.guild_id AND commands.server_id = ''
       AND place > coalesce(cursor, 0) AND expires_at > $3 AND live_at < live_until
       AND (commands.place_id IS NULL OR commands.place_id = servers.place_id)
       AND excluded_server_id IS DISTINCT FROM servers.server_id
       -- Since when a server was live that the release before admitted is not known for longer than this.
       AND (cursor IS NOT NULL OR live_at >= heartbeat_at)
     ON CONFLICT (guild_id, command_id, server_id) DO NOTHING`,
    [guildsOf(servers), namesOf(servers), now],
  );
}

/** Changes how many servers are counted as live, by `added` in each guild; `earliest` is when one of them may lapse. */
export async function addLiveServers(
  transaction: Queryable,
  changes: readonly { guildId: string; added: number; earliest: Date | null }[],
): Promise<void> {
  await transaction.query(
    `UPDATE activity.guilds SET live_servers = live_servers + added, next_lapse_at = least(next_lapse_at, earliest)
     FROM unnest($1::text[], $2::int[], $3::timestamptz[]) AS change (guild_id, added, earliest)
     WHERE guilds.guild_id = change.guild_id`,
    [changes.map(({ guildId }) => guildId), changes.map(({ added }) => added), changes.map(({ earliest }) => earliest)],
  );
}

/** A heartbeat that makes a server live, keeps it so, or ends it. */
export interface Admission {
  heartbeat: Heartbeat;
  /** The server was not live: what was sent before is not for it, but for what was reserved. */
  isNew: boolean;
}

/**
 * Writes heartbeats, at most one of a server; their guilds must be locked, and what they change be counted already.
 * A server that ends is live no longer than it was, and no player is kept of it.
 */
export function saveAdmissions(
  transaction: Queryable,
  admissions: readonly Admission[],
): Promise<{ guildId: string; serverId: string; intervalSeconds: number }[]> {
  const rows = admissions.map(({ heartbeat, isNew }) => ({
    ...beatRow(heartbeat),
    ...(heartbeat.isFinal && { players: undefined }),
    isNew,
  }));
  return transaction.query(
    `WITH beat AS (
       SELECT given.*, ${INTERVAL} AS seconds, last_place FROM json_to_recordset($1) AS given (${BEAT_COLUMNS}, "isNew" boolean)
       JOIN activity.guilds ON guild_id = "guildId"
     )
     INSERT INTO activity.servers (guild_id, server_id, place_id, universe_id, player_count, max_players, players, fps,
       age_seconds, plugin_version, heartbeat_at, interval_seconds, live_until, is_counted, cursor, admitted_place)
     SELECT "guildId", "serverId", "placeId", "universeId", "playerCount", "maxPlayers", players::json, fps,
       "ageSeconds", "pluginVersion", "receivedAt", seconds,
       "receivedAt" + CASE WHEN "isFinal" THEN 0 ELSE ${MISSED} * seconds END * interval '1 second', NOT "isFinal",
       CASE WHEN "isNew" THEN last_place END, CASE WHEN "isNew" THEN last_place END
     FROM beat ORDER BY "guildId", "serverId"
     ON CONFLICT (guild_id, server_id) DO UPDATE SET place_id = excluded.place_id, universe_id = excluded.universe_id,
       player_count = excluded.player_count, max_players = excluded.max_players, players = excluded.players,
       fps = excluded.fps, age_seconds = excluded.age_seconds, plugin_version = excluded.plugin_version,
       heartbeat_at = excluded.heartbeat_at, interval_seconds = excluded.interval_seconds,
       live_until = CASE WHEN excluded.is_counted THEN excluded.live_until
         ELSE least(servers.live_until, excluded.live_until) END,
       is_counted = excluded.is_counted, cursor = coalesce(excluded.cursor, servers.cursor),
       admitted_place = coalesce(excluded.admitted_place, servers.admitted_place)
     WHERE excluded.heartbeat_at >= servers.heartbeat_at
     RETURNING guild_id AS "guildId", server_id AS "serverId", interval_seconds AS "intervalSeconds"`,
    [JSON.stringify(rows)],
  );
}
