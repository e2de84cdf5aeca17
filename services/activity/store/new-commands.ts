import type { Queryable } from '#kit/postgres/pool.ts';
import { type NewCommand, SHARED } from './commands.ts';
import { INTERVAL_SQL } from './servers.ts';

/** The maximum number of commands that wait for one server, and of open shared commands in a guild. */
export const MAX_OPEN_COMMANDS = 1_000;

/**
 * The age, in milliseconds, from which a moderation decision is late, for example after an outage. A late decision may
 * be for servers that are no longer live.
 */
const LATE_MS = 5_000;

/** A command that was sent to game servers. */
export interface SentCommand {
  commandId: string;
  /** The number of game servers that the command is for. */
  servers: number;
  expiresAt: Date;
}

/** The settings that determine when a command expires. */
export interface Lifetime {
  /** The lifetime of the command. Undefined means 4 times the heartbeat interval, but at least 120 s. */
  ttlSeconds: number | undefined;
  /** The command expires at this time at the latest. */
  notAfter: Date | undefined;
}

/** Identifies a command, so that a repeated request does not send the command again. */
export interface CommandKey {
  /** The ID of the event that reported the moderation decision. */
  eventId?: string;
  /** The idempotency key of the operator, and a digest of the request. */
  request?: { key: string; hash: Buffer };
}

/** The game servers that a shared command is for. */
export interface Audience {
  /** The place whose servers receive the command; undefined for every place of the guild. */
  placeId: number | undefined;
  /** The game server that the command came from. This server receives no command. */
  excludedServerId: string | undefined;
  /** Selects servers that were live at this time, or became live before the command is sent. */
  liveAt: Date;
}

export interface OutgoingCommand {
  guildId: string;
  command: NewCommand;
  key: CommandKey;
  lifetime: Lifetime;
  now: Date;
}

const SENT = `command_id AS "commandId", servers, expires_at AS "expiresAt"`;

/** Returns the parameters $1 to $12 of the two INSERT statements below. */
const parametersOf = ({ guildId, command, key, lifetime, now }: OutgoingCommand) => [
  guildId,
  command.type,
  command.target?.gameId,
  command.target?.gameUsername,
  JSON.stringify(command.payload),
  command.issuedBy,
  now,
  key.eventId,
  key.request?.key,
  key.request?.hash,
  lifetime.ttlSeconds,
  lifetime.notAfter,
];

const INSERT = `INSERT INTO activity.commands (guild_id, type, target_game_id, target_game_username, payload, issued_by,
  created_at, event_id, request_key, request_hash, expires_at, server_id, place_id, excluded_server_id, live_at,
  servers, reported_at)`;

const VALUES = '$1, $2, $3::bigint, $4, $5::json, $6, $7::timestamptz, $8::uuid, $9, $10::bytea';

/**
 * SQL for the time at which a command expires; `interval` is SQL for the heartbeat interval of its servers, in seconds.
 */
const expiresAt = (interval: string) => `least($12::timestamptz, $7::timestamptz
  + coalesce($11::int, greatest(120, 4 * ${interval})) * interval '1 second')`;

/** Returns the command that was sent with an idempotency key, and the digest of its request. */
export async function findRequest(
  on: Queryable,
  guildId: string,
  key: string,
): Promise<(SentCommand & { hash: Buffer }) | undefined> {
  const [found] = await on.query<SentCommand & { hash: Buffer }>(
    `SELECT ${SENT}, request_hash AS hash FROM activity.commands WHERE guild_id = $1 AND request_key = $2`,
    [guildId, key],
  );
  return found;
}

/**
 * Returns the number of servers that a moderation decision was sent to; undefined if it was not sent yet. The sum
 * includes the rows of the previous release, which stored one row for each server.
 */
export async function findDecision(on: Queryable, guildId: string, eventId: string): Promise<number | undefined> {
  const [found] = await on.query<{ servers: number | null }>(
    'SELECT sum(servers)::int AS servers FROM activity.commands WHERE guild_id = $1 AND event_id = $2',
    [guildId, eventId],
  );
  return found?.servers ?? undefined;
}

/**
 * Stores a command for a named game server, live or not. Returns undefined if the queue of the server is full. The
 * guild must be locked.
 */
export async function insertServerCommand(
  transaction: Queryable,
  outgoing: OutgoingCommand,
  serverId: string,
): Promise<SentCommand | undefined> {
  const open = `guild_id = $1 AND acked_at IS NULL AND expires_at > $7`;
  const [sent] = await transaction.query<SentCommand>(
    `WITH waiting AS (
       SELECT (SELECT count(*) FROM (
           SELECT 1 FROM activity.commands WHERE ${open} AND server_id = $13 LIMIT ${MAX_OPEN_COMMANDS}) AS own)
         + (SELECT count(*) FROM (
          SELECT 1 FROM activity.deliveries WHERE ${open} AND server_id = $13 LIMIT ${MAX_OPEN_COMMANDS}) AS shared)
         AS commands
     ), known AS (
       SELECT max(interval_seconds) AS interval_seconds FROM activity.servers WHERE guild_id = $1 AND server_id = $13
     )
     ${INSERT}
     SELECT ${VALUES}, ${expiresAt('interval_seconds')}, $13, NULL, NULL, NULL, 1, NULL
     FROM waiting, known WHERE commands < ${MAX_OPEN_COMMANDS}
     RETURNING ${SENT}`,
    [...parametersOf(outgoing), serverId],
  );
  return sent;
}

/**
 * Stores a command for several game servers as one row. A command for no server is finished, and the caller must record
 * that as an event. Returns undefined if the guild already has `MAX_OPEN_COMMANDS` commands for several servers that
 * are neither acknowledged nor expired. The caller must hold the lock of the guild.
 */
export async function insertSharedCommand(
  transaction: Queryable,
  outgoing: OutgoingCommand,
  { placeId, excludedServerId, liveAt }: Audience,
): Promise<SentCommand | undefined> {
  // Servers that were live at the time of a late decision may no longer be counted as live. Only for late decisions are
  // all stored servers read, because there are far more of them than counted ones.
  const isLate = outgoing.now.getTime() - liveAt.getTime() > LATE_MS;
  const [sent] = await transaction.query<SentCommand>(
    `WITH opened AS (
       SELECT count(*) AS commands FROM (
         SELECT 1 FROM activity.commands
        WHERE guild_id = $1 AND server_id = '${SHARED}' AND acked_at IS NULL AND expires_at > $7
         LIMIT ${MAX_OPEN_COMMANDS}
       ) AS counted
     ), reached AS (
       SELECT count(*)::int AS servers FROM activity.servers
       WHERE guild_id = $1 ${isLate ? '' : 'AND is_counted'} AND live_until > $15 AND cursor IS NOT NULL
         AND ($13::bigint IS NULL OR place_id = $13) AND server_id IS DISTINCT FROM $14
     ), guild AS (
       SELECT ${INTERVAL_SQL} AS seconds FROM activity.guilds WHERE guild_id = $1
     ), added AS (
       ${INSERT}
       SELECT ${VALUES}, ${expiresAt('seconds')}, '${SHARED}', $13, $14, $15::timestamptz, reached.servers,
         CASE WHEN reached.servers = 0 THEN $7::timestamptz END
       FROM opened, reached, guild WHERE opened.commands < ${MAX_OPEN_COMMANDS}
       RETURNING guild_id, command_id, servers, expires_at, place
     ), newest AS (
       UPDATE activity.guilds SET last_place = place FROM added
       WHERE guilds.guild_id = $1 AND guilds.guild_id = added.guild_id
     )
     SELECT ${SENT} FROM added`,
    [...parametersOf(outgoing), placeId, excludedServerId, liveAt],
  );
  return sent;
}

/** Expires the oldest open shared commands of a guild, so that one more can be sent. */
export async function expireOldest(transaction: Queryable, guildId: string, now: Date): Promise<void> {
  await transaction.query(
    `UPDATE activity.commands SET expires_at = $2 FROM (
       SELECT command_id AS oldest FROM activity.commands
       WHERE guild_id = $1 AND server_id = '${SHARED}' AND acked_at IS NULL AND expires_at > $2
       ORDER BY place DESC OFFSET ${MAX_OPEN_COMMANDS - 1}
     ) AS excess WHERE guild_id = $1 AND command_id = oldest`,
    [guildId, now],
  );
}
