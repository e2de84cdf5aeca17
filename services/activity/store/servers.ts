import { byGuild, guildOf, guildStatement, itself } from '#kit/postgres/citus/by-guild.ts';
import { prepared, type Queryable } from '#kit/postgres/pool.ts';
import { MIN_INTERVAL_SECONDS } from '#proto/rest/activity/servers.ts';

/** The heartbeat of a game server. */
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
  /** True if the game server is shutting down. */
  isFinal: boolean;
  /** When the heartbeat was received. An older heartbeat never replaces a newer one. */
  receivedAt: Date;
}

/** Returns a text that identifies a game server among those of all guilds. Neither ID can contain a space. */
export const serverKey = ({ guildId, serverId }: { guildId: string; serverId: string }) => `${guildId} ${serverId}`;

/** Sorts items into the order in which all statements lock servers, to avoid deadlocks. */
export const sortByServer = <Item extends { guildId: string; serverId: string }>(items: readonly Item[]): Item[] =>
  items.toSorted((a, b) => (serverKey(a) < serverKey(b) ? -1 : 1));

/**
 * SQL for the interval between the heartbeats of a server, in seconds: a quarter of a second for each live server, so
 * that a guild with up to 1,200 servers sends at most 240 heartbeats a minute, which fits into the rate limit of one
 * API key (300 a minute).
 */
export const INTERVAL_SQL = `least(300, greatest(${MIN_INTERVAL_SECONDS}, ceil(live_servers / 4.0)))::int`;

/** The number of heartbeat intervals for which a server stays live without a heartbeat. */
export const MISSED_INTERVALS = 3;

/** The minimum time, in milliseconds, for which a server stays live after a heartbeat. */
export const MIN_LIVE_MS = MISSED_INTERVALS * MIN_INTERVAL_SECONDS * 1000;

/** The columns of a heartbeat that a statement reads from JSON; see `heartbeatRow`. */
export const HEARTBEAT_COLUMNS = `"guildId" text, "serverId" text, "placeId" bigint, "universeId" bigint,
  "playerCount" int, "maxPlayers" int, players text, fps float8, "ageSeconds" bigint, "pluginVersion" text,
  "isFinal" boolean, "receivedAt" timestamptz`;

/**
 * Converts a heartbeat to JSON with `HEARTBEAT_COLUMNS`. The players are encoded as a string of JSON, because
 * json_to_recordset would reject escapes that are valid in JSON, such as \u0000.
 */
export const heartbeatRow = ({ players, ...heartbeat }: Heartbeat) => ({
  ...heartbeat,
  players: players && JSON.stringify(players),
});

const SAVE_HEARTBEATS = guildStatement(
  1,
  (andGuild) => `WITH heartbeat AS (
     SELECT * FROM json_to_recordset($1) AS given (${HEARTBEAT_COLUMNS})
   ), known AS (
     SELECT heartbeat.*, seconds, "receivedAt" + ${MISSED_INTERVALS} * seconds * interval '1 second' AS "liveUntil"
     FROM heartbeat
     CROSS JOIN LATERAL (
       SELECT ${INTERVAL_SQL} AS seconds FROM activity.guilds
       WHERE guild_id = "guildId" ${andGuild('guilds')} LIMIT 1
     ) AS guild
     CROSS JOIN LATERAL (
       SELECT FROM activity.servers WHERE guild_id = "guildId" ${andGuild('servers')} AND server_id = "serverId"
         AND is_counted AND live_until > "receivedAt" AND heartbeat_at <= "receivedAt" FOR UPDATE
     ) AS server
   )
   UPDATE activity.servers SET place_id = "placeId", universe_id = "universeId", player_count = "playerCount",
     max_players = "maxPlayers", players = known.players::json, fps = known.fps, age_seconds = "ageSeconds",
     plugin_version = "pluginVersion", heartbeat_at = "receivedAt", interval_seconds = seconds,
     live_until = "liveUntil"
   FROM known WHERE guild_id = "guildId" ${andGuild('servers')} AND server_id = "serverId"
   RETURNING guild_id AS "guildId", server_id AS "serverId", interval_seconds AS "intervalSeconds"`,
  prepared,
);

/** A heartbeat that was written. */
export interface SavedHeartbeat {
  guildId: string;
  serverId: string;
  /** The seconds until the server should send its next heartbeat. */
  intervalSeconds: number;
}

/**
 * Writes heartbeats of live servers in one statement, at most one of each server and none of a server that is shutting
 * down. The result lacks heartbeats that were not written because their server is not live or has sent a newer
 * heartbeat.
 */
export function saveHeartbeats(on: Queryable, heartbeats: readonly Heartbeat[]): Promise<SavedHeartbeat[]> {
  return byGuild(on, sortByServer(heartbeats), guildOf, (part, run) =>
    run(SAVE_HEARTBEATS, [JSON.stringify(part.map(heartbeatRow))]),
  );
}

const READ_INTERVALS = guildStatement(
  1,
  (andGuild) => `SELECT requested.guild_id AS "guildId", seconds AS "intervalSeconds"
   FROM unnest((SELECT $1::text[])) AS requested (guild_id)
   CROSS JOIN LATERAL (
     SELECT ${INTERVAL_SQL} AS seconds FROM activity.guilds
     WHERE guilds.guild_id = requested.guild_id ${andGuild('guilds')} LIMIT 1
   ) AS guild`,
  prepared,
);

/** Returns the current heartbeat interval of each guild. The result has no row for a guild without servers. */
export function readIntervals(
  on: Queryable,
  guildIds: readonly string[],
): Promise<{ guildId: string; intervalSeconds: number }[]> {
  return byGuild(on, guildIds, itself, (part, run) => run(READ_INTERVALS, [part]));
}

/** A game server, as its last heartbeat described it. */
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

/** The columns of a LiveServer, for an SQL SELECT or RETURNING. */
export const SERVER = `servers.server_id AS "serverId", place_id AS "placeId", universe_id AS "universeId",
  player_count AS "playerCount", max_players AS "maxPlayers", fps, age_seconds AS "ageSeconds",
  plugin_version AS "pluginVersion", heartbeat_at AS "heartbeatAt", live_until AS "liveUntil"`;

/** A game server that has come online or gone offline. */
export type ChangedServer = LiveServer & { guildId: string };

/**
 * Returns a page of the live servers of a guild, or of one place of the guild, ordered by ID, starting after the ID
 * `after`.
 */
export function listServers(
  on: Queryable,
  guildId: string,
  { placeId, after, limit }: { placeId: number | undefined; after: string; limit: number },
  now: Date,
): Promise<LiveServer[]> {
  return on.query(
    `SELECT ${SERVER} FROM activity.servers
     WHERE guild_id = $1 AND is_counted AND server_id > $2 AND live_until > $3
       AND ($4::bigint IS NULL OR place_id = $4)
     ORDER BY server_id LIMIT $5`,
    [guildId, after, now, placeId, limit],
  );
}

/** True if a guild has a game server with this ID, live or not, that is still stored. */
export async function isStoredServer(on: Queryable, guildId: string, serverId: string): Promise<boolean> {
  const found = await on.query('SELECT FROM activity.servers WHERE guild_id = $1 AND server_id = $2', [
    guildId,
    serverId,
  ]);
  return found.length > 0;
}

/** Returns the number of live servers of a guild, or of one place of the guild. */
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

/** A live game server with the players of its last heartbeat. */
export type ServerWithPlayers = LiveServer & {
  /** null if the server did not report its players. */
  players: readonly { game_id: number; username?: string | undefined }[] | null;
};

/** Returns a live server of a guild; undefined if it is unknown or not live. */
export async function findServer(
  on: Queryable,
  guildId: string,
  serverId: string,
  now: Date,
): Promise<ServerWithPlayers | undefined> {
  const [server] = await on.query<ServerWithPlayers>(
    `SELECT ${SERVER}, players FROM activity.servers
     WHERE guild_id = $1 AND server_id = $2 AND is_counted AND live_until > $3`,
    [guildId, serverId, now],
  );
  return server;
}

/**
 * Returns the live server of a guild whose last heartbeat named a player; the newest heartbeat if several did. Reads the
 * players of each live server of the guild: an index on them would have to change with every heartbeat. Text is searched
 * first, because that is much faster than parsing the players of all servers.
 */
export async function findServerOfPlayer(
  on: Queryable,
  guildId: string,
  gameId: number,
  now: Date,
): Promise<LiveServer | undefined> {
  const [server] = await on.query<LiveServer>(
    `SELECT ${SERVER} FROM activity.servers
     WHERE guild_id = $1 AND is_counted AND live_until > $3
       AND CASE WHEN strpos(players::text, '"game_id":' || $2::bigint || ',') > 0
           OR strpos(players::text, '"game_id":' || $2::bigint || '}') > 0
         THEN EXISTS (SELECT FROM json_array_elements(players) AS player WHERE player->>'game_id' = $2::bigint::text)
         ELSE false END
     ORDER BY heartbeat_at DESC, server_id LIMIT 1`,
    [guildId, gameId, now],
  );
  return server;
}
