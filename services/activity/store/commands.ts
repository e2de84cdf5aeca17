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

/** A CommandRow of activity.commands. */
export const COLUMNS = `command_id AS "commandId", server_id AS "serverId", type, target_game_id AS "targetGameId",
  target_game_username AS "targetGameUsername", payload, issued_by AS "issuedBy", created_at AS "createdAt",
  expires_at AS "expiresAt", attempt, leased_until AS "leasedUntil"`;

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

/** Commands of all guilds that are not acknowledged. */
export interface Unacknowledged {
  /** Whether they were handed over at least once. */
  state: 'waiting' | 'handed_over';
  count: number;
  /** When the oldest was made; null where there is none. */
  oldest: Date | null;
  /** How many more have expired between two times. */
  expired: number;
}

/**
 * What is not acknowledged `now`, and what has expired without it after `since`; a row for each state. Found by when
 * commands are over: an index on what expires alone would be taken for queues too, by a planner that knows only the past.
 */
export function readUnacknowledged(on: Queryable, since: Date, now: Date): Promise<Unacknowledged[]> {
  return on.query<Unacknowledged>(
    `SELECT state, count(command_id) FILTER (WHERE expires_at > $2)::int AS count,
       min(created_at) FILTER (WHERE expires_at > $2) AS oldest,
       count(command_id) FILTER (WHERE expires_at <= $2)::int AS expired
     FROM (VALUES ('waiting', false), ('handed_over', true)) AS states (state, is_handed_over)
     LEFT JOIN activity.commands ON (attempt > 0) = is_handed_over AND acked_at IS NULL
       AND LEAST(acked_at, expires_at) > $1
     GROUP BY state`,
    [since, now],
  );
}
