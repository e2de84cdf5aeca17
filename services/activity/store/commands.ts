import type { Queryable } from '#kit/postgres.ts';
import type { ACK_STATUSES, COMMAND_TYPES } from '#proto/rest/activity/shapes.ts';

export type CommandType = (typeof COMMAND_TYPES)[number];
export type AckStatus = (typeof ACK_STATUSES)[number];

/** What servers are to be told. */
export interface NewCommand {
  type: CommandType;
  target: { gameId: number; gameUsername: string | undefined } | undefined;
  payload: Record<string, unknown>;
  issuedBy: string | undefined;
}

export interface CommandRow {
  commandId: string;
  serverId: string;
  type: CommandType;
  targetGameId: number | null;
  targetGameUsername: string | null;
  payload: Record<string, unknown>;
  issuedBy: string | null;
  createdAt: Date;
  expiresAt: Date;
  attempt: number;
  leasedUntil: Date | null;
}

/** A command that was handed over. */
export type LeasedCommand = CommandRow & { guildId: string; leasedUntil: Date };

export interface Ack {
  guildId: string;
  serverId: string;
  commandId: string;
  status: AckStatus;
  /** Any JSON; undefined for none. */
  result: unknown;
  error: string | undefined;
}

const COLUMNS = `command_id AS "commandId", server_id AS "serverId", type, target_game_id AS "targetGameId",
  target_game_username AS "targetGameUsername", payload, issued_by AS "issuedBy", created_at AS "createdAt",
  expires_at AS "expiresAt", attempt, leased_until AS "leasedUntil"`;

const INSERT = `INSERT INTO activity.commands (guild_id, server_id, event_id, type, target_game_id,
  target_game_username, payload, issued_by, created_at, expires_at)`;

/** $1 to $7, for a server whose interval is known or not; $8 is when the command expires at the latest, if it says. */
const values = (command: NewCommand, guildId: string, now: Date) => [
  guildId,
  command.type,
  command.target?.gameId,
  command.target?.gameUsername,
  JSON.stringify(command.payload),
  command.issuedBy,
  now,
];

/** 4 times the interval told, at least 120 s. */
const USUAL_END = `$7::timestamptz + greatest(120, 4 * interval_seconds) * interval '1 second'`;

/** A command for one server, live or not; its ID. It lives for `ttlSeconds`, or as long as is usual. */
export async function insertCommand(
  on: Queryable,
  guildId: string,
  serverId: string,
  command: NewCommand,
  ttlSeconds: number | undefined,
  now: Date,
): Promise<string[]> {
  const rows = await on.query<{ commandId: string }>(
    `${INSERT}
     SELECT $1, $9, NULL, $2, $3::bigint, $4, $5::json, $6, $7::timestamptz,
       coalesce($7::timestamptz + $8::int * interval '1 second', ${USUAL_END})
     FROM (VALUES (1)) AS one LEFT JOIN activity.servers ON guild_id = $1 AND server_id = $9
     RETURNING command_id AS "commandId"`,
    [...values(command, guildId, now), ttlSeconds, serverId],
  );
  return rows.map(({ commandId }) => commandId);
}

/** A command for each live server of the guild, or of a place, in one statement; their IDs. */
export async function insertForLive(
  on: Queryable,
  guildId: string,
  placeId: number | undefined,
  command: NewCommand,
  ttlSeconds: number | undefined,
  now: Date,
): Promise<string[]> {
  const rows = await on.query<{ commandId: string }>(
    `${INSERT}
     SELECT $1, server_id, NULL, $2, $3::bigint, $4, $5::json, $6, $7::timestamptz,
       coalesce($7::timestamptz + $8::int * interval '1 second', ${USUAL_END})
     FROM activity.servers
     WHERE guild_id = $1 AND live_until > $7 AND ($9::bigint IS NULL OR place_id = $9)
     RETURNING command_id AS "commandId"`,
    [...values(command, guildId, now), ttlSeconds, placeId],
  );
  return rows.map(({ commandId }) => commandId);
}

/** Whom a decision is to reach, and until when it is of use. */
export interface Decision {
  eventId: string;
  placeId: number | undefined;
  /** It knows already. */
  sourceServerId: string | undefined;
  decidedAt: Date;
  expiresAt: Date | undefined;
}

/**
 * A command for each server that has none of this event yet and was live when it was decided, or came after: while we
 * were away, no server could show that it lives. Returns how many servers have one now.
 */
export async function insertDecision(
  on: Queryable,
  guildId: string,
  decision: Decision,
  command: NewCommand,
  now: Date,
): Promise<number> {
  const [row] = await on.query<{ servers: number }>(
    `WITH stored AS (
       SELECT server_id FROM activity.commands WHERE guild_id = $1 AND event_id = $9
     ), added AS (
       ${INSERT}
       SELECT $1, server_id, $9, $2, $3::bigint, $4, $5::json, $6, $7::timestamptz, least($8::timestamptz, ${USUAL_END})
       FROM activity.servers
       WHERE guild_id = $1 AND live_until > least($7, $12::timestamptz) AND ($10::bigint IS NULL OR place_id = $10)
         AND server_id IS DISTINCT FROM $11 AND ($8::timestamptz IS NULL OR $8 > $7)
       ON CONFLICT (guild_id, event_id, server_id) WHERE event_id IS NOT NULL DO NOTHING
       RETURNING server_id
     )
     SELECT count(*)::int AS servers FROM (SELECT server_id FROM stored UNION SELECT server_id FROM added) AS reached`,
    [
      ...values(command, guildId, now),
      decision.expiresAt,
      decision.eventId,
      decision.placeId,
      decision.sourceServerId,
      decision.decidedAt,
    ],
  );
  return row?.servers ?? 0;
}

export interface Asked {
  guildId: string;
  serverId: string;
  limit: number;
}

/**
 * Leases to each server, at most once among `asked`, what it is to be handed now: in one statement, and never what
 * another is being handed at the same time. Sorted by place in the queue.
 */
export async function leaseCommands(
  on: Queryable,
  asked: readonly Asked[],
  now: Date,
  until: Date,
): Promise<LeasedCommand[]> {
  const rows = await on.query<LeasedCommand & { place: number }>(
    `WITH due AS (
       SELECT queued.* FROM unnest($1::text[], $2::text[], $3::int[]) AS asked (guild_id, server_id, wanted)
       CROSS JOIN LATERAL (
         SELECT guild_id, command_id FROM activity.commands
         WHERE commands.guild_id = asked.guild_id AND commands.server_id = asked.server_id
           AND acked_at IS NULL AND expires_at > $4 AND (leased_until IS NULL OR leased_until <= $4)
         ORDER BY place LIMIT asked.wanted FOR UPDATE SKIP LOCKED
       ) AS queued
     )
     UPDATE activity.commands SET attempt = attempt + 1, leased_until = $5 FROM due
     WHERE commands.guild_id = due.guild_id AND commands.command_id = due.command_id
     RETURNING commands.guild_id AS "guildId", place, commands.${COLUMNS}`,
    [
      asked.map(({ guildId }) => guildId),
      asked.map(({ serverId }) => serverId),
      asked.map(({ limit }) => limit),
      now,
      until,
    ],
  );
  return rows.sort((a, b) => a.place - b.place);
}

/** For each server whose queue holds leased commands alone: when the first of the leases ends. */
export function readLeaseEnds(
  on: Queryable,
  asked: readonly Omit<Asked, 'limit'>[],
  now: Date,
): Promise<{ guildId: string; serverId: string; leasedUntil: Date }[]> {
  return on.query(
    `SELECT asked.guild_id AS "guildId", asked.server_id AS "serverId", first.leased_until AS "leasedUntil"
     FROM unnest($1::text[], $2::text[]) AS asked (guild_id, server_id)
     CROSS JOIN LATERAL (
       SELECT min(leased_until) AS leased_until FROM activity.commands
       WHERE commands.guild_id = asked.guild_id AND commands.server_id = asked.server_id
         AND acked_at IS NULL AND expires_at > $3
     ) AS first WHERE first.leased_until IS NOT NULL`,
    [asked.map(({ guildId }) => guildId), asked.map(({ serverId }) => serverId), now],
  );
}

/** Acknowledges commands of servers, in one statement; those that were are left as they are. The others. */
export function ackCommands(
  on: Queryable,
  acks: readonly Ack[],
  now: Date,
): Promise<{ guildId: string; serverId: string; commandId: string }[]> {
  const rows = acks.map(({ result, ...ack }) => ({ ...ack, result: JSON.stringify(result) }));
  return on.query(
    `WITH given AS (
       SELECT * FROM json_to_recordset($1)
         AS given ("guildId" text, "serverId" text, "commandId" uuid, status text, result text, error text)
     ), named AS (
       SELECT given.* FROM given JOIN activity.commands
         ON guild_id = "guildId" AND command_id = "commandId" AND server_id = "serverId"
       ORDER BY "commandId" FOR UPDATE OF commands
     )
     UPDATE activity.commands SET status = named.status, result = named.result::json, error = named.error, acked_at = $2
     FROM named WHERE guild_id = "guildId" AND command_id = "commandId" AND acked_at IS NULL
     RETURNING named."guildId", named."serverId", named."commandId"`,
    [JSON.stringify(rows), now],
  );
}

/** How a server's command was acknowledged; undefined when there is no such command. */
export async function findAck(
  on: Queryable,
  { guildId, serverId, commandId }: Pick<Ack, 'guildId' | 'serverId' | 'commandId'>,
): Promise<{ status: AckStatus; ackedAt: Date } | undefined> {
  const [found] = await on.query<{ status: AckStatus; ackedAt: Date }>(
    `SELECT status, acked_at AS "ackedAt" FROM activity.commands
     WHERE guild_id = $1 AND command_id = $2 AND server_id = $3`,
    [guildId, commandId, serverId],
  );
  return found;
}

/** The newest commands of a guild, the newest first. */
export function listCommands(
  on: Queryable,
  guildId: string,
  limit: number,
): Promise<(CommandRow & { status: AckStatus | null; ackedAt: Date | null; result: unknown; error: string | null })[]> {
  return on.query(
    `SELECT ${COLUMNS}, status, acked_at AS "ackedAt", result, error FROM activity.commands
     WHERE guild_id = $1 ORDER BY place DESC LIMIT $2`,
    [guildId, limit],
  );
}
