import { prepared, type Queryable } from '#kit/postgres/pool.ts';
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
  /** When it was received: a heartbeat that is written later than a newer one changes nothing. */
  receivedAt: Date;
}

/** Names a server among those of all guilds; neither ID holds a space. */
export const serverKey = ({ guildId, serverId }: { guildId: string; serverId: string }) => `${guildId} ${serverId}`;

/** In the one order in which statements lock servers. */
export const byServer = <Item extends { guildId: string; serverId: string }>(items: readonly Item[]): Item[] =>
  items.toSorted((a, b) => (serverKey(a) < serverKey(b) ? -1 : 1));

/** Seconds between heartbeats: with a quarter of a second for each live server, one key's 300 a minute serve 1,200. */
export const INTERVAL = `least(300, greatest(${SHORTEST_INTERVAL_SECONDS}, ceil(live_servers / 4.0)))::int`;

/** How many intervals a server stays live without a heartbeat. */
export const MISSED = 3;

/** How long a server stays live after a heartbeat, at the least. */
export const MIN_LIVE_MS = MISSED * SHORTEST_INTERVAL_SECONDS * 1000;

/** A heartbeat as a record that statements read from JSON; see `beatRow`. */
export const BEAT_COLUMNS = `"guildId" text, "serverId" text, "placeId" bigint, "universeId" bigint, "playerCount" int,
  "maxPlayers" int, players text, fps float8, "ageSeconds" bigint, "pluginVersion" text, "isFinal" boolean,
  "receivedAt" timestamptz`;

/** A record of `BEAT_COLUMNS`. Players are text in it: read as a part of it, escapes that JSON allows would fail. */
export const beatRow = ({ players, ...beat }: Heartbeat) => ({ ...beat, players: players && JSON.stringify(players) });

/** How long a lapse may go unnoticed while no server comes or goes. */
const SWEEP_AFTER = `interval '5 seconds'`;

const SAVE_HEARTBEATS = prepared(
  `WITH beat AS (
     SELECT * FROM json_to_recordset($1) AS given (${BEAT_COLUMNS})
   ), known AS (
     SELECT beat.*, seconds, is_due FROM beat
     CROSS JOIN LATERAL (
       SELECT ${INTERVAL} AS seconds, next_lapse_at <= "receivedAt" - ${SWEEP_AFTER} AS is_due
       FROM activity.guilds WHERE guild_id = "guildId" LIMIT 1
     ) AS guild
     CROSS JOIN LATERAL (
       SELECT FROM activity.servers WHERE guild_id = "guildId" AND server_id = "serverId"
         AND is_counted AND live_until > "receivedAt" AND heartbeat_at <= "receivedAt" FOR UPDATE
     ) AS server
   )
   UPDATE activity.servers SET place_id = "placeId", universe_id = "universeId", player_count = "playerCount",
     max_players = "maxPlayers", players = known.players::json, fps = known.fps, age_seconds = "ageSeconds",
     plugin_version = "pluginVersion", heartbeat_at = "receivedAt", interval_seconds = seconds,
     live_until = "receivedAt" + ${MISSED} * seconds * interval '1 second'
   FROM known WHERE guild_id = "guildId" AND server_id = "serverId"
   RETURNING guild_id AS "guildId", server_id AS "serverId", interval_seconds AS "intervalSeconds",
     coalesce(is_due, false) AS "isSweepDue"`,
);

/** A heartbeat that was written. */
export interface SavedHeartbeat {
  guildId: string;
  serverId: string;
  /** When the server is to send the next one. */
  intervalSeconds: number;
  /** Servers of the guild have been past their end for a while and are still counted. */
  isSweepDue: boolean;
}

/**
 * Writes heartbeats of servers that are live, at most one of each, in one statement. Those that are missing in the
 * result were not written: their servers are not live, or have sent a newer one. None may be final.
 */
export function saveHeartbeats(on: Queryable, heartbeats: readonly Heartbeat[]): Promise<SavedHeartbeat[]> {
  return on.query(SAVE_HEARTBEATS, [JSON.stringify(byServer(heartbeats).map(beatRow))]);
}

const READ_INTERVALS = prepared(
  `SELECT asked.guild_id AS "guildId", seconds AS "intervalSeconds"
   FROM unnest((SELECT $1::text[])) AS asked (guild_id)
   CROSS JOIN LATERAL (
     SELECT ${INTERVAL} AS seconds FROM activity.guilds WHERE guilds.guild_id = asked.guild_id LIMIT 1
   ) AS guild`,
);

/** The interval that a server of each guild is told now; guilds without servers are left out. */
export function readIntervals(
  on: Queryable,
  guildIds: readonly string[],
): Promise<{ guildId: string; intervalSeconds: number }[]> {
  return on.query(READ_INTERVALS, [guildIds]);
}

/** A live server, as it reported itself. */
export interface LiveServer {
  serverId: string;
  placeId: number;
  universeId: number | null;
  playerCount: number;
  maxPlayers: number;
  fps: number | null;
  ageSeconds: number | null;
  pluginVersion: string | null;
  heartbeatAt: Date;
  liveUntil: Date;
}

/** A page of a guild's live servers, ordered by ID, after the ID given; of one place where `placeId` is set. */
export function listServers(
  on: Queryable,
  guildId: string,
  { placeId, after, limit }: { placeId: number | undefined; after: string; limit: number },
  now: Date,
): Promise<LiveServer[]> {
  return on.query(
    `SELECT server_id AS "serverId", place_id AS "placeId", universe_id AS "universeId",
       player_count AS "playerCount", max_players AS "maxPlayers", fps, age_seconds AS "ageSeconds",
       plugin_version AS "pluginVersion", heartbeat_at AS "heartbeatAt", live_until AS "liveUntil"
     FROM activity.servers
     WHERE guild_id = $1 AND is_counted AND server_id > $2 AND live_until > $3
       AND ($4::bigint IS NULL OR place_id = $4)
     ORDER BY server_id LIMIT $5`,
    [guildId, after, now, placeId, limit],
  );
}

/** How many servers of a guild, or of one place, are live. */
export async function countServers(
  on: Queryable,
  guildId: string,
  placeId: number | undefined,
  now: Date,
): Promise<number> {
  const [row] = await on.query<{ servers: number }>(
    `SELECT count(*)::int AS servers FROM activity.servers
     WHERE guild_id = $1 AND is_counted AND live_until > $2 AND ($3::bigint IS NULL OR place_id = $3)`,
    [guildId, now, placeId],
  );
  return row?.servers ?? 0;
}
