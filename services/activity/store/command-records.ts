import { longRunning, type Queryable } from '#kit/postgres/pool.ts';
import type { COMMAND_STATES } from '#proto/rest/activity/records.ts';
import type { AckStatus, CommandType } from './commands.ts';

/** A command to game servers and its outcome. */
export interface CommandRecord {
  commandId: string;
  /** The position of the command in the order in which commands were sent. */
  sequence: number;
  /** The server ID of a command for one named server; empty for a shared command, which is for several servers. */
  serverId: string;
  /** The place whose servers get a shared command; null for every place. */
  placeId: number | null;
  excludedServerId: string | null;
  /** The number of game servers that the command was sent to. */
  servers: number;
  type: CommandType;
  targetGameId: number | null;
  targetGameUsername: string | null;
  payload: Record<string, unknown>;
  issuedBy: string | null;
  createdAt: Date;
  expiresAt: Date;
  cancelledAt: Date | null;
  /**
   * Deliveries of the command so far. The fields from `attempt` to `ackedAt` are only used for a command for a named
   * server.
   */
  attempt: number;
  leasedUntil: Date | null;
  status: AckStatus | null;
  result: unknown;
  error: string | null;
  ackedAt: Date | null;

  /** The number of servers that received a shared command; null for a command for a named server. */
  delivered: number | null;
  /**
   * The number of servers that acknowledged a shared command with `success`; null for a command for a named server.
   * `failed` and `rejected` count the other statuses.
   */
  succeeded: number | null;
  failed: number | null;
  rejected: number | null;
  /** The number of servers that received a shared command and did not acknowledge it before it expired. */
  unacknowledged: number | null;
}

/** The columns of a CommandRecord; needs OUTCOME_JOIN. */
export const RECORD = `command_id AS "commandId", place AS sequence, server_id AS "serverId", place_id AS "placeId",
  excluded_server_id AS "excludedServerId", servers, type, target_game_id AS "targetGameId",
  target_game_username AS "targetGameUsername", payload, issued_by AS "issuedBy", created_at AS "createdAt",
  expires_at AS "expiresAt", cancelled_at AS "cancelledAt", attempt, leased_until AS "leasedUntil", status, result,
  error, acked_at AS "ackedAt", delivered, succeeded, failed, rejected, unacknowledged`;

/**
 * SQL that counts the deliveries and acknowledgements of each shared command at the time $2. `andGuild` limits the deliveries to
 * the guild of the statement, such as `AND deliveries.guild_id = $1`.
 */
export const outcomeJoin = (andGuild: string) => `LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE attempt > 0 OR acked_at IS NOT NULL)::int AS delivered,
      count(*) FILTER (WHERE status = 'success')::int AS succeeded,
      count(*) FILTER (WHERE status = 'failed')::int AS failed,
      count(*) FILTER (WHERE status = 'rejected')::int AS rejected,
      count(*) FILTER (WHERE attempt > 0 AND acked_at IS NULL AND expires_at <= $2)::int AS unacknowledged
    FROM activity.deliveries
    WHERE deliveries.guild_id = commands.guild_id AND deliveries.command_id = commands.command_id
      ${andGuild}
  ) AS outcome ON server_id = ''`;

/** The counts of the commands of the guild $1. */
const OUTCOME_JOIN = outcomeJoin('AND deliveries.guild_id = $1');

export interface CommandFilter {
  /** Selects only commands that were sent before the command with this time and sequence number. */
  before: { createdAt: Date; sequence: number } | undefined;
  /** Selects only commands that were sent at this time or later. */
  since: Date | undefined;
  /** Selects only commands in this state. An expired command is `finished` as soon as that is recorded. */
  state?: (typeof COMMAND_STATES)[number] | undefined;
  limit: number;
}

/** SQL for the state of a command, as the index commands_state has it. */
const STATE = `CASE WHEN cancelled_at IS NOT NULL THEN 'cancelled' WHEN reported_at IS NOT NULL THEN 'finished'
  ELSE 'open' END`;

/** SQL that selects the commands in each state at the time $2. Expired commands are no longer open. */
const IN_STATE = {
  open: `AND (${STATE}) = 'open' AND expires_at > $2`,
  finished: `AND (${STATE}) = 'finished'`,
  cancelled: `AND (${STATE}) = 'cancelled'`,
};

/**
 * Returns a page of a guild's commands, the newest first. This read and the two below count many rows. They return only when
 * PostgreSQL has ended them, so that their caller can limit how many connections they use.
 */
export function listCommands(
  on: Queryable,
  guildId: string,
  { before, since, state, limit }: CommandFilter,
  now: Date,
): Promise<CommandRecord[]> {
  return on.query(
    longRunning(`SELECT ${RECORD} FROM (
       SELECT * FROM activity.commands
       WHERE guild_id = $1 AND (created_at, place) < (coalesce($3::timestamptz, 'infinity'), coalesce($4::bigint, 0))
         AND created_at >= coalesce($5::timestamptz, '-infinity') ${state === undefined ? '' : IN_STATE[state]}
       ORDER BY created_at DESC, place DESC LIMIT $6
     ) AS commands ${OUTCOME_JOIN} ORDER BY created_at DESC, place DESC`),
    [guildId, now, before?.createdAt, before?.sequence, since, limit],
  );
}

export async function findCommand(
  on: Queryable,
  guildId: string,
  commandId: string,
  now: Date,
): Promise<CommandRecord | undefined> {
  const [found] = await on.query<CommandRecord>(
    longRunning(`SELECT ${RECORD} FROM activity.commands ${OUTCOME_JOIN} WHERE guild_id = $1 AND command_id = $3`),
    [guildId, now, commandId],
  );
  return found;
}

/** The state of a command on one game server. */
export interface ServerRecord {
  serverId: string;
  attempt: number;
  leasedUntil: Date | null;
  expiresAt: Date;
  status: AckStatus | null;
  result: unknown;
  error: string | null;
  ackedAt: Date | null;
}

/**
 * Returns a page of the game servers of a shared command, ordered by ID, starting after the ID `after`. Contains the
 * servers that received the command, and those that have not fetched it yet as long as they are stored.
 */
export function listCommandServers(
  on: Queryable,
  guildId: string,
  commandId: string,
  after: string,
  limit: number,
): Promise<ServerRecord[]> {
  return on.query(
    longRunning(`SELECT * FROM (
       SELECT server_id AS "serverId", attempt, leased_until AS "leasedUntil", expires_at AS "expiresAt", status,
         result, error, acked_at AS "ackedAt"
       FROM activity.deliveries WHERE guild_id = $1 AND command_id = $2 AND server_id > $3
       UNION ALL
       SELECT servers.server_id, 0, NULL, expires_at, NULL, NULL, NULL, NULL
       FROM activity.commands JOIN activity.servers ON servers.guild_id = commands.guild_id
       WHERE commands.guild_id = $1 AND command_id = $2 AND commands.server_id = '' AND servers.server_id > $3
         AND admitted_place < place AND live_at < live_until
         AND (commands.place_id IS NULL OR commands.place_id = servers.place_id)
         AND excluded_server_id IS DISTINCT FROM servers.server_id
         AND NOT EXISTS (
           SELECT FROM activity.deliveries
           WHERE guild_id = $1 AND command_id = $2 AND deliveries.server_id = servers.server_id
         )
     ) AS every ORDER BY "serverId" LIMIT $4`),
    [guildId, commandId, after, limit],
  );
}

/**
 * Cancels a command for every game server that did not receive it yet. Returns the number of these servers, or
 * undefined if the guild has no such command. A server that fetches the command concurrently may be counted and still
 * receive it. If the number is not 0, the caller must record that the command is finished.
 */
export async function cancelCommand(
  on: Queryable,
  guildId: string,
  commandId: string,
  now: Date,
): Promise<number | undefined> {
  const [found] = await on.query<{ cancelled: number }>(
    `WITH handed AS (
       SELECT count(*) AS servers FROM activity.deliveries
       WHERE guild_id = $1 AND command_id = $2 AND (attempt > 0 OR acked_at IS NOT NULL)
     ), cancelled AS (
       UPDATE activity.commands SET cancelled_at = $3, expires_at = $3, reported_at = $3 FROM handed
       WHERE guild_id = $1 AND command_id = $2 AND acked_at IS NULL AND expires_at > $3
         -- Not as IS NULL, for which the planner might choose the index of all commands that are not reported.
         AND coalesce(reported_at, 'infinity') = 'infinity'
         AND attempt = 0 AND commands.servers > handed.servers
       RETURNING commands.servers - handed.servers AS servers
     ), reserved AS (
       DELETE FROM activity.deliveries USING cancelled
       WHERE guild_id = $1 AND command_id = $2 AND attempt = 0 AND acked_at IS NULL
     )
     SELECT coalesce((SELECT servers FROM cancelled), 0)::int AS cancelled FROM activity.commands
     WHERE guild_id = $1 AND command_id = $2`,
    [guildId, commandId, now],
  );
  return found?.cancelled;
}

/** The unacknowledged commands of all guilds in one state. A shared command counts once for each server. */
export interface UnacknowledgedCounts {
  /** `handed_over` for commands that were delivered to a server at least once, otherwise `waiting`. */
  state: 'waiting' | 'handed_over';
  count: number;
  /** When the oldest unacknowledged command was sent; null if there is none. */
  oldest: Date | null;
  /** The number of commands that expired unacknowledged after the time `since`. */
  expired: number;
}

/** The maximum number of commands that are counted, those that expire first. */
const MAX_COUNTED = 200_000;

/**
 * The maximum number of shared commands, and of their servers together, whose deliveries are read to tell `handed_over`
 * from `waiting`. The first commands of each guild come first, so that a guild with many leaves room for the others.
 */
const MAX_INSPECTED_COMMANDS = 5_000;
const MAX_INSPECTED_SERVERS = 50_000;

/**
 * Counts the commands that are unacknowledged at the time `now`, and those that expired unacknowledged after `since`.
 * Returns a row for each state. Cancelled commands do not count. Shared commands above MAX_INSPECTED_COMMANDS or
 * MAX_INSPECTED_SERVERS count as `waiting`. The condition matches the index on the time at which commands are finished. An
 * index on `expires_at` alone is not an option, because the planner would also choose it for the queues of servers,
 * where it reads far more rows.
 */
export function readUnacknowledged(on: Queryable, since: Date, now: Date): Promise<UnacknowledgedCounts[]> {
  return on.query<UnacknowledgedCounts>(
    longRunning(`WITH own AS MATERIALIZED (
       SELECT guild_id, command_id, server_id, created_at, expires_at, attempt > 0 AS is_handed_over,
         servers - acked_servers AS servers
       FROM activity.commands
       WHERE acked_at IS NULL AND LEAST(acked_at, expires_at) > $1 AND cancelled_at IS NULL AND acked_servers < servers
       ORDER BY LEAST(acked_at, expires_at) LIMIT ${MAX_COUNTED}
     ), numbered AS (
       SELECT guild_id, command_id, created_at, servers,
         row_number() OVER (PARTITION BY guild_id ORDER BY created_at) AS number
       FROM own WHERE server_id = ''
     ), added_up AS (
       SELECT guild_id, command_id, number, sum(servers) OVER (ORDER BY number, created_at, command_id) AS servers
       FROM numbered
     ), inspected AS MATERIALIZED (
       SELECT guild_id, command_id FROM added_up WHERE servers <= ${MAX_INSPECTED_SERVERS}
       ORDER BY servers LIMIT ${MAX_INSPECTED_COMMANDS}
     ), handed AS (
       SELECT inspected.guild_id, inspected.command_id, count(*) AS servers
       FROM inspected JOIN activity.deliveries
         ON deliveries.guild_id = inspected.guild_id AND deliveries.command_id = inspected.command_id
       WHERE attempt > 0 AND acked_at IS NULL GROUP BY 1, 2
     ), counted AS (
       SELECT is_handed_over, created_at, expires_at, servers FROM own WHERE server_id <> ''
       UNION ALL
       SELECT true, created_at, expires_at, handed.servers FROM own JOIN handed USING (guild_id, command_id)
       UNION ALL
       SELECT false, created_at, expires_at, own.servers - coalesce(handed.servers, 0)
       FROM own LEFT JOIN handed USING (guild_id, command_id) WHERE server_id = ''
     )
     SELECT state, coalesce(sum(servers) FILTER (WHERE expires_at > $2), 0)::int AS count,
       min(created_at) FILTER (WHERE expires_at > $2) AS oldest,
       coalesce(sum(servers) FILTER (WHERE expires_at <= $2), 0)::int AS expired
     FROM (VALUES ('waiting', false), ('handed_over', true)) AS states (state, is_handed_over)
     LEFT JOIN (SELECT * FROM counted WHERE servers > 0) AS counted USING (is_handed_over)
     GROUP BY state`),
    [since, now],
  );
}
