import type { Queryable } from '#kit/postgres/pool.ts';
import { type NewCommand, SHARED } from './commands.ts';
import { INTERVAL } from './servers.ts';

/** Commands that may wait for one server by name, and commands for several servers that may be open in a guild. */
export const MAX_WAITING = 1_000;

/** A decision is late after this, such as when activity was down: servers that were live then may no longer be. */
const LATE_MS = 5_000;

/** A command that was sent. */
export interface Sent {
  commandId: string;
  /** How many servers it is for. */
  servers: number;
  expiresAt: Date;
}

/** When a command expires. */
export interface Lifetime {
  /** undefined: 4 times the interval of heartbeats, at least 120 s. */
  ttlSeconds: number | undefined;
  /** Not later than this. */
  until: Date | undefined;
}

/** Names a command, so that it is sent once. */
export interface CommandKey {
  /** The decision that it reports. */
  eventId?: string;
  /** The sender's idempotency key, and a digest of what is sent with it. */
  request?: { key: string; hash: Buffer };
}

/** Servers that are to get a command. */
export interface Reach {
  /** Only those of this place. */
  placeId: number | undefined;
  /** This server knows already. */
  excludedServerId: string | undefined;
  /** Those that were live at this time, or became live until the command is sent. */
  liveAt: Date;
}

export interface Sending {
  guildId: string;
  command: NewCommand;
  key: CommandKey;
  lifetime: Lifetime;
  now: Date;
}

const SENT = `command_id AS "commandId", servers, expires_at AS "expiresAt"`;

/** $1 to $12 of both statements below. */
const values = ({ guildId, command, key, lifetime, now }: Sending) => [
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
  lifetime.until,
];

const INSERT = `INSERT INTO activity.commands (guild_id, type, target_game_id, target_game_username, payload, issued_by,
  created_at, event_id, request_key, request_hash, expires_at, server_id, place_id, excluded_server_id, live_at, servers)`;

const VALUES = '$1, $2, $3::bigint, $4, $5::json, $6, $7::timestamptz, $8::uuid, $9, $10::bytea';

/** When it expires, from the interval that its servers were told. */
const end = (interval: string) => `least($12::timestamptz, $7::timestamptz
  + coalesce($11::int, greatest(120, 4 * ${interval})) * interval '1 second')`;

/** The command that was sent with an idempotency key, and the digest of what was sent. */
export async function findRequest(
  on: Queryable,
  guildId: string,
  key: string,
): Promise<(Sent & { hash: Buffer }) | undefined> {
  const [found] = await on.query<Sent & { hash: Buffer }>(
    `SELECT ${SENT}, request_hash AS hash FROM activity.commands WHERE guild_id = $1 AND request_key = $2`,
    [guildId, key],
  );
  return found;
}

/** How many servers a decision was sent to; undefined when it was not. The release before made a row for each server. */
export async function findDecision(on: Queryable, guildId: string, eventId: string): Promise<number | undefined> {
  const [found] = await on.query<{ servers: number | null }>(
    'SELECT sum(servers)::int AS servers FROM activity.commands WHERE guild_id = $1 AND event_id = $2',
    [guildId, eventId],
  );
  return found?.servers ?? undefined;
}

/**
 * Sends a command to one server, live or not; undefined when `MAX_WAITING` wait for it. The guild must be locked.
 */
export async function insertForServer(
  transaction: Queryable,
  sending: Sending,
  serverId: string,
): Promise<Sent | undefined> {
  const open = `guild_id = $1 AND acked_at IS NULL AND expires_at > $7`;
  const [sent] = await transaction.query<Sent>(
    `WITH waiting AS (
       SELECT (SELECT count(*) FROM (
           SELECT FROM activity.commands WHERE ${open} AND server_id = $13 LIMIT ${MAX_WAITING}) AS own)
         + (SELECT count(*) FROM (
           SELECT FROM activity.deliveries WHERE ${open} AND server_id = $13 LIMIT ${MAX_WAITING}) AS shared) AS commands
     )
     ${INSERT}
     SELECT ${VALUES}, ${end('interval_seconds')}, $13, NULL, NULL, NULL, 1
     FROM waiting LEFT JOIN activity.servers ON guild_id = $1 AND server_id = $13
     WHERE commands < ${MAX_WAITING}
     RETURNING ${SENT}`,
    [...values(sending), serverId],
  );
  return sent;
}

/**
 * Sends a command to several servers: one row, whoever they are. undefined when `MAX_WAITING` of them are open in the
 * guild, which must be locked.
 */
export async function insertForSeveral(
  transaction: Queryable,
  sending: Sending,
  { placeId, excludedServerId, liveAt }: Reach,
): Promise<Sent | undefined> {
  // Servers past their end are no longer counted soon, and what is not counted is far more.
  const isLate = sending.now.getTime() - liveAt.getTime() > LATE_MS;
  const [sent] = await transaction.query<Sent>(
    `WITH opened AS (
       SELECT count(*) AS commands FROM (
         SELECT FROM activity.commands
         WHERE guild_id = $1 AND server_id = '${SHARED}' AND acked_at IS NULL AND expires_at > $7 LIMIT ${MAX_WAITING}
       ) AS counted
     ), reached AS (
       SELECT count(*)::int AS servers FROM activity.servers
       WHERE guild_id = $1 ${isLate ? '' : 'AND is_counted'} AND live_until > $15 AND cursor IS NOT NULL
         AND ($13::bigint IS NULL OR place_id = $13) AND server_id IS DISTINCT FROM $14
     ), guild AS (
       SELECT ${INTERVAL} AS seconds FROM activity.guilds WHERE guild_id = $1
     ), added AS (
       ${INSERT}
       SELECT ${VALUES}, ${end('seconds')}, '${SHARED}', $13, $14, $15::timestamptz, reached.servers
       FROM opened, reached, guild WHERE opened.commands < ${MAX_WAITING}
       RETURNING guild_id, command_id, servers, expires_at, place
     ), newest AS (
       UPDATE activity.guilds SET last_place = place FROM added WHERE guilds.guild_id = added.guild_id
     )
     SELECT ${SENT} FROM added`,
    [...values(sending), placeId, excludedServerId, liveAt],
  );
  return sent;
}

/** Makes room for a command for several servers: expires the oldest of as many as may be open. */
export async function expireOldest(transaction: Queryable, guildId: string, now: Date): Promise<void> {
  await transaction.query(
    `UPDATE activity.commands SET expires_at = $2 FROM (
       SELECT command_id AS oldest FROM activity.commands
       WHERE guild_id = $1 AND server_id = '${SHARED}' AND acked_at IS NULL AND expires_at > $2
       ORDER BY place DESC OFFSET ${MAX_WAITING - 1}
     ) AS excess WHERE guild_id = $1 AND command_id = oldest`,
    [guildId, now],
  );
}
