import type { EventSource } from '#kit/events/source.ts';
import { byGuild, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { ACK_STATUSES, COMMAND_TYPES } from '#proto/rest/activity/shapes.ts';

export type CommandType = (typeof COMMAND_TYPES)[number];
export type AckStatus = (typeof ACK_STATUSES)[number];

/** The content of a command to game servers. */
export interface NewCommand {
  type: CommandType;
  target: { gameId: number; gameUsername?: string | undefined } | undefined;
  payload: Record<string, unknown>;
  issuedBy: string | undefined;
}

export interface CommandRow {
  commandId: string;
  /** The game server that receives the command. */
  serverId: string;
  type: CommandType;
  targetGameId: number | null;
  targetGameUsername: string | null;
  payload: Record<string, unknown>;
  issuedBy: string | null;
  createdAt: Date;
  expiresAt: Date;
  /** The number of this delivery attempt, starting at 1. */
  attempt: number;
}

/** A command that is leased to a game server until `leasedUntil`. */
export type LeasedCommand = CommandRow & { guildId: string; leasedUntil: Date };

/** The value of the column server_id for a shared command, which is for several servers. */
export const SHARED = '';

/** The maximum size of the stored result of a command, in bytes of JSON. */
const MAX_RESULT_BYTES = 4 * 1024;

export interface Ack {
  guildId: string;
  serverId: string;
  commandId: string;
  status: AckStatus;
  /** The result that the server reported for the command: any JSON, or undefined for no result. */
  result: unknown;
  error: string | undefined;
  /** Who sent the acknowledgement, for the event of a command that is finished by it. */
  source?: EventSource | undefined;
}

/** A command that a server has acknowledged. */
export interface AckedCommand {
  guildId: string;
  serverId: string;
  commandId: string;
  /** True if the command is finished by these acknowledgements, which the caller must record as an event. */
  isFinished: boolean;
}

/**
 * Returns the JSON to store for the result of a command. A result that is too large is replaced by its size, because
 * the acknowledgement must not fail.
 */
function storedResult(result: unknown): string | undefined {
  const text = JSON.stringify(result) as string | undefined;
  if (text === undefined || Buffer.byteLength(text) <= MAX_RESULT_BYTES) return text;
  return JSON.stringify({ truncated: true, bytes: Buffer.byteLength(text) });
}

/**
 * Acknowledges commands in one statement. Returns the commands that were not acknowledged before; commands with an
 * earlier acknowledgement do not change. Each server that received a shared command can acknowledge it. The commands are
 * locked before their deliveries, as by a cancellation.
 */
export function ackCommands(on: Queryable, acks: readonly Ack[], now: Date): Promise<AckedCommand[]> {
  const rows = acks.map(({ guildId, serverId, commandId, status, result, error }) => ({
    guildId,
    serverId,
    commandId,
    status,
    result: storedResult(result),
    error,
  }));
  return byGuild(on, rows, guildOf, (part, run) => run(ACK, [JSON.stringify(part), now]));
}

const ACK = guildStatement(
  2,
  (andGuild) => `WITH given AS (
       SELECT * FROM json_to_recordset($1)
         AS given ("guildId" text, "serverId" text, "commandId" uuid, status text, result text, error text)
     ), locked AS MATERIALIZED (
       SELECT given.*, server_id = '' AS is_shared, reported_at IS NULL AS was_open FROM given JOIN activity.commands
         ON guild_id = "guildId" AND command_id = "commandId" AND server_id IN ("serverId", '')
         ${andGuild('commands')}
       ORDER BY "guildId", "commandId" FOR UPDATE OF commands
     ), shared AS (
       SELECT locked.* FROM locked JOIN activity.deliveries
         ON guild_id = "guildId" AND command_id = "commandId" AND server_id = "serverId"
         ${andGuild('deliveries')}
       WHERE is_shared ORDER BY "commandId", "serverId" FOR UPDATE OF deliveries
     ), own_acked AS (
       UPDATE activity.commands SET status = locked.status, result = locked.result::json, error = locked.error,
         acked_at = $2, reported_at = coalesce(reported_at, $2)
       FROM locked WHERE NOT is_shared AND guild_id = "guildId" AND command_id = "commandId" AND acked_at IS NULL
         ${andGuild('commands')}
       RETURNING "guildId", "serverId", "commandId", was_open AS "isFinished"
     ), shared_acked AS (
       UPDATE activity.deliveries SET status = shared.status, result = shared.result::json, error = shared.error,
         acked_at = $2
       FROM shared WHERE guild_id = "guildId" AND command_id = "commandId" AND server_id = "serverId"
         AND deliveries.status IS NULL ${andGuild('deliveries')}
       RETURNING "guildId", "serverId", "commandId", was_open
     ), acked AS (
       SELECT "guildId", "commandId", was_open, count(*)::int AS acks FROM shared_acked GROUP BY 1, 2, 3
     ), counted AS (
       UPDATE activity.commands SET acked_servers = acked_servers + acks,
         reported_at = CASE WHEN acked_servers + acks >= servers THEN coalesce(reported_at, $2) ELSE reported_at END
       FROM acked WHERE guild_id = "guildId" AND command_id = "commandId" ${andGuild('commands')}
       RETURNING "guildId", "commandId", was_open AND reported_at IS NOT NULL AS "isFinished"
     )
     SELECT * FROM own_acked
     UNION ALL
     SELECT "guildId", "serverId", "commandId", "isFinished" FROM shared_acked JOIN counted USING ("guildId", "commandId")`,
);

/** Returns the acknowledgement of a command by a game server; undefined if the server has no such command. */
export async function findAck(
  on: Queryable,
  { guildId, serverId, commandId }: Pick<Ack, 'guildId' | 'serverId' | 'commandId'>,
): Promise<{ status: AckStatus; ackedAt: Date } | undefined> {
  const [found] = await on.query<{ status: AckStatus; ackedAt: Date }>(
    `SELECT status, acked_at AS "ackedAt" FROM activity.commands
     WHERE guild_id = $1 AND command_id = $2 AND server_id = $3
     UNION ALL
     SELECT status, acked_at FROM activity.deliveries WHERE guild_id = $1 AND command_id = $2 AND server_id = $3`,
    [guildId, commandId, serverId],
  );
  return found;
}
