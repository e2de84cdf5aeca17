import { prepared, type Queryable } from '#kit/postgres.ts';
import { SHORTEST_INTERVAL_SECONDS } from '#proto/rest/activity/servers.ts';

/** A server's heartbeat, as it is kept. */
export interface Heartbeat {
  guildId: string;
  serverId: string;
  placeId: number;
  universeId: number | undefined;
  playerCount: number;
  maxPlayers: number;
  players: unknown;
  fps: number | undefined;
  ageSeconds: number | undefined;
  pluginVersion: string | undefined;
  /** The server is shutting down. */
  isFinal: boolean;
}

/** What a server is told: with a quarter of a second for each live server, one key's 300 a minute serve 1,200. */
const INTERVAL = `least(300, greatest(${SHORTEST_INTERVAL_SECONDS}, ceil(coalesce(servers, 0) / 4.0)))::int`;

/** How many intervals a server stays live without a heartbeat. */
const MISSED = 3;

// Players are text here: reading them as part of this document would refuse escapes that JSON allows.
const SAVE_HEARTBEATS = prepared(
  `WITH beat AS (
     SELECT * FROM json_to_recordset($1) AS given ("guildId" text, "serverId" text, "placeId" bigint,
       "universeId" bigint, "playerCount" int, "maxPlayers" int, players text, fps float8, "ageSeconds" bigint,
       "pluginVersion" text, "isFinal" boolean)
   ), live AS (
     SELECT guild_id, server_id FROM activity.servers
     WHERE guild_id = ANY(ARRAY(SELECT unnest($2::text[]))) AND live_until > (SELECT $3::timestamptz)
     UNION SELECT "guildId", "serverId" FROM beat
     EXCEPT SELECT "guildId", "serverId" FROM beat WHERE "isFinal"
   ), counted AS (
     SELECT guild_id, count(*) AS servers FROM live GROUP BY guild_id
   ), told AS (
     SELECT beat.*, ${INTERVAL} AS seconds FROM beat LEFT JOIN counted ON guild_id = "guildId"
   )
   INSERT INTO activity.servers (guild_id, server_id, place_id, universe_id, player_count, max_players, players, fps,
     age_seconds, plugin_version, heartbeat_at, interval_seconds, live_until)
   SELECT "guildId", "serverId", "placeId", "universeId", "playerCount", "maxPlayers", players::json, fps,
     "ageSeconds", "pluginVersion", $3::timestamptz, seconds,
     CASE WHEN "isFinal" THEN $3::timestamptz ELSE $3 + ${MISSED} * seconds * interval '1 second' END
   FROM told ORDER BY "guildId", "serverId"
   ON CONFLICT (guild_id, server_id) DO UPDATE SET place_id = excluded.place_id, universe_id = excluded.universe_id,
     player_count = excluded.player_count, max_players = excluded.max_players, players = excluded.players,
     fps = excluded.fps, age_seconds = excluded.age_seconds, plugin_version = excluded.plugin_version,
     heartbeat_at = excluded.heartbeat_at, interval_seconds = excluded.interval_seconds,
     live_until = excluded.live_until
   RETURNING guild_id AS "guildId", server_id AS "serverId", interval_seconds AS "intervalSeconds"`,
);

/** Keeps heartbeats, at most one of a server, in one statement; the interval that each server is told. */
export function saveHeartbeats(
  on: Queryable,
  heartbeats: readonly Heartbeat[],
  now: Date,
): Promise<{ guildId: string; serverId: string; intervalSeconds: number }[]> {
  const rows = heartbeats.map((beat) => ({ ...beat, players: beat.players && JSON.stringify(beat.players) }));
  const guildIds = [...new Set(heartbeats.map(({ guildId }) => guildId))];
  return on.query(SAVE_HEARTBEATS, [JSON.stringify(rows), guildIds, now]);
}

const READ_INTERVALS = prepared(
  `SELECT guild_id AS "guildId", ${INTERVAL} AS "intervalSeconds"
   FROM unnest((SELECT $1::text[])) AS asked (guild_id)
   CROSS JOIN LATERAL (
     SELECT count(*) AS servers FROM activity.servers
     WHERE servers.guild_id = asked.guild_id AND live_until > (SELECT $2::timestamptz)
   ) AS live`,
);

/** The interval that a server of each guild is told now. */
export function readIntervals(
  on: Queryable,
  guildIds: readonly string[],
  now: Date,
): Promise<{ guildId: string; intervalSeconds: number }[]> {
  return on.query(READ_INTERVALS, [guildIds, now]);
}
