import { byGuild, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import {
  type ChangedServer,
  HEARTBEAT_COLUMNS,
  type Heartbeat,
  heartbeatRow,
  INTERVAL_SQL,
  MISSED_INTERVALS,
  SERVER,
  sortByServer,
} from './servers.ts';

/** The stored fields of a server that decide whether a heartbeat makes it live. */
export interface StoredServer {
  guildId: string;
  serverId: string;
  /** The `place` of the last shared command that was considered for the server. */
  cursor: number;
  /** True if the server is counted in the live servers of its guild, even if its heartbeats have stopped since. */
  isCounted: boolean;
  heartbeatAt: Date;
  liveUntil: Date;
}

type ServerName = Pick<StoredServer, 'guildId' | 'serverId'>;

const guildsOf = (items: readonly { guildId: string }[]) => items.map(guildOf);
const serverIdsOf = (servers: readonly ServerName[]) => servers.map(({ serverId }) => serverId);

const FIND_SERVERS = guildStatement(
  2,
  (andGuild) => `SELECT stored.* FROM unnest($1::text[], $2::text[]) AS requested (guild_id, server_id)
     CROSS JOIN LATERAL (
       SELECT guild_id AS "guildId", server_id AS "serverId", coalesce(cursor, 0) AS cursor, is_counted AS "isCounted",
         heartbeat_at AS "heartbeatAt", live_until AS "liveUntil"
       FROM activity.servers
       WHERE servers.guild_id = requested.guild_id AND servers.server_id = requested.server_id
         ${andGuild('servers')} FOR UPDATE
     ) AS stored`,
);

/**
 * Reads stored game servers and locks their rows until the transaction ends. The result has no row for an unknown
 * server.
 */
export function findServers(transaction: Queryable, servers: readonly ServerName[]): Promise<StoredServer[]> {
  return byGuild(transaction, sortByServer(servers), guildOf, (part, run) =>
    run<StoredServer>(FIND_SERVERS, [guildsOf(part), serverIdsOf(part)]),
  );
}

/**
 * SQL that selects the open shared commands that may be for one of the returning servers of a guild: `newer` has the
 * lowest cursor of these servers, and the latest time until which one of them was live. At most MAX_OPEN_COMMANDS of a
 * guild are open.
 */
const openCommands = (columns: string, now: string, andGuild: (table: string) => string) => `SELECT ${columns}
  FROM activity.commands
  WHERE commands.guild_id = newer.guild_id ${andGuild('commands')} AND commands.server_id = '' AND acked_at IS NULL
    AND expires_at > ${now} AND place > newer.cursor AND live_at < newer.live_until`;

const COUNT_OPEN = guildStatement(
  4,
  (andGuild) => `SELECT newer.guild_id AS "guildId", commands
     FROM unnest($1::text[], $2::bigint[], $3::timestamptz[]) AS newer (guild_id, cursor, live_until)
     CROSS JOIN LATERAL (${openCommands('count(*)::int AS commands', '$4', andGuild)}) AS open`,
);

/**
 * Returns how many shared commands have to be reserved at most for each of these servers of a guild when it becomes
 * live again. The servers and their guilds must be locked.
 */
export async function countReservations(
  transaction: Queryable,
  servers: readonly StoredServer[],
  now: Date,
): Promise<Map<string, number>> {
  const guilds = [...Map.groupBy(servers, guildOf)].map(([guildId, ofGuild]) => ({
    guildId,
    cursor: Math.min(...ofGuild.map(({ cursor }) => cursor)),
    liveUntil: new Date(Math.max(...ofGuild.map(({ liveUntil }) => liveUntil.getTime()))),
  }));
  const counts = await byGuild(transaction, guilds, guildOf, (part, run) =>
    run<{ guildId: string; commands: number }>(COUNT_OPEN, [
      guildsOf(part),
      part.map(({ cursor }) => cursor),
      part.map(({ liveUntil }) => liveUntil),
      now,
    ]),
  );
  return new Map(counts.map(({ guildId, commands }) => [guildId, commands]));
}

const RESERVE_COMMANDS = guildStatement(
  3,
  (andGuild) => `WITH back AS MATERIALIZED (
       SELECT servers.guild_id, servers.server_id, servers.place_id, cursor, heartbeat_at, live_until
       FROM unnest($1::text[], $2::text[]) AS back (guild_id, server_id)
       JOIN activity.servers ON servers.guild_id = back.guild_id AND servers.server_id = back.server_id
         ${andGuild('servers')}
     ), newer AS (
       SELECT guild_id, min(coalesce(cursor, 0)) AS cursor, max(live_until) AS live_until FROM back GROUP BY guild_id
     ), open AS MATERIALIZED (
       SELECT found.* FROM newer CROSS JOIN LATERAL (
         ${openCommands('guild_id, command_id, place, place_id, excluded_server_id, live_at, expires_at', '$3', andGuild)}
       ) AS found
     )
     INSERT INTO activity.deliveries (guild_id, command_id, server_id, expires_at)
     SELECT back.guild_id, command_id, back.server_id, expires_at FROM back JOIN open ON open.guild_id = back.guild_id
     WHERE place > coalesce(cursor, 0) AND live_at < live_until
       AND (open.place_id IS NULL OR open.place_id = back.place_id)
       AND excluded_server_id IS DISTINCT FROM back.server_id
       -- The previous release did not store when a server became live, only its last heartbeat.
       AND (cursor IS NOT NULL OR live_at >= heartbeat_at)
     ON CONFLICT (guild_id, command_id, server_id) DO NOTHING`,
);

/**
 * Reserves shared commands for game servers that become live again. The commands were sent while the servers were live
 * before; without a reservation the servers' new cursors would skip them. The servers and their guilds must be locked.
 */
export async function reserveCommands(
  transaction: Queryable,
  servers: readonly ServerName[],
  now: Date,
): Promise<void> {
  await byGuild(transaction, servers, guildOf, (part, run) =>
    run(RESERVE_COMMANDS, [guildsOf(part), serverIdsOf(part), now]),
  );
}

const ADD_LIVE_SERVERS = guildStatement(
  3,
  (andGuild) => `UPDATE activity.guilds
     SET live_servers = live_servers + added, next_lapse_at = least(next_lapse_at, earliest)
     FROM unnest($1::text[], $2::int[], $3::timestamptz[]) AS change (guild_id, added, earliest)
     WHERE guilds.guild_id = change.guild_id ${andGuild('guilds')}`,
);

/**
 * Adds `added` to the live-server count of each guild; `earliest` is the earliest time at which one of the added
 * servers can stop being live.
 */
export async function addLiveServers(
  transaction: Queryable,
  changes: readonly { guildId: string; added: number; earliest: Date | null }[],
): Promise<void> {
  await byGuild(transaction, changes, guildOf, (part, run) =>
    run(ADD_LIVE_SERVERS, [part.map(guildOf), part.map(({ added }) => added), part.map(({ earliest }) => earliest)]),
  );
}

/** A heartbeat that makes a game server live, keeps it live, or ends it. */
export interface Admission {
  heartbeat: Heartbeat;
  /**
   * True if the server was not live before. A new server gets no commands that were sent before, except for reserved
   * ones.
   */
  isNew: boolean;
}

const SAVE_ADMISSIONS = guildStatement(
  1,
  (andGuild) => `WITH heartbeat AS (
       SELECT given.*, ${INTERVAL_SQL} AS seconds, last_place
       FROM json_to_recordset($1) AS given (${HEARTBEAT_COLUMNS}, "isNew" boolean)
       JOIN activity.guilds ON guild_id = "guildId" ${andGuild('guilds')}
     )
     INSERT INTO activity.servers (guild_id, server_id, place_id, universe_id, player_count, max_players, players, fps,
       age_seconds, plugin_version, heartbeat_at, interval_seconds, live_until, is_counted, cursor, admitted_place)
     SELECT "guildId", "serverId", "placeId", "universeId", "playerCount", "maxPlayers", players::json, fps,
       "ageSeconds", "pluginVersion", "receivedAt", seconds,
       "receivedAt" + CASE WHEN "isFinal" THEN 0 ELSE ${MISSED_INTERVALS} * seconds END * interval '1 second',
       NOT "isFinal",
       CASE WHEN "isNew" THEN last_place END, CASE WHEN "isNew" THEN last_place END
     FROM heartbeat ORDER BY "guildId", "serverId"
     ON CONFLICT (guild_id, server_id) DO UPDATE SET place_id = excluded.place_id, universe_id = excluded.universe_id,
       player_count = excluded.player_count, max_players = excluded.max_players, players = excluded.players,
       fps = excluded.fps, age_seconds = excluded.age_seconds, plugin_version = excluded.plugin_version,
       heartbeat_at = excluded.heartbeat_at, interval_seconds = excluded.interval_seconds,
       live_until = CASE WHEN excluded.is_counted THEN excluded.live_until
         ELSE least(servers.live_until, excluded.live_until) END,
       is_counted = excluded.is_counted, cursor = coalesce(excluded.cursor, servers.cursor),
       admitted_place = coalesce(excluded.admitted_place, servers.admitted_place)
     WHERE excluded.heartbeat_at >= servers.heartbeat_at
     RETURNING guild_id AS "guildId", ${SERVER}, interval_seconds AS "intervalSeconds"`,
);

/**
 * Writes heartbeats, at most one of each server. The guilds must be locked, and their live-server counts changed
 * already. If a server ends, its players are deleted and its `live_until` is never moved to a later time. Returns the
 * servers as they are stored now.
 */
export function saveAdmissions(
  transaction: Queryable,
  admissions: readonly Admission[],
): Promise<(ChangedServer & { intervalSeconds: number })[]> {
  const rows = admissions.map(({ heartbeat, isNew }) => ({
    ...heartbeatRow(heartbeat),
    ...(heartbeat.isFinal && { players: undefined }),
    isNew,
  }));
  return byGuild(transaction, rows, guildOf, (part, run) => run(SAVE_ADMISSIONS, [JSON.stringify(part)]));
}
