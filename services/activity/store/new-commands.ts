import type { Queryable } from '#kit/postgres.ts';
import type { NewCommand } from './commands.ts';

/** Commands that wait for one server, neither acknowledged nor expired. A few more where several are made at once. */
export const MOST_WAITING = 1_000;

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
const END = `coalesce($7::timestamptz + $8::int * interval '1 second', ${USUAL_END})`;

/** What waits for a server. */
const waitingFor = (serverId: string) => `FROM activity.commands AS waiting
  WHERE waiting.guild_id = $1 AND waiting.server_id = ${serverId} AND acked_at IS NULL AND expires_at > $7`;

/** Whether less waits for a server than may. */
const hasRoom = (serverId: string) =>
  `(SELECT count(*) FROM (SELECT ${waitingFor(serverId)} LIMIT ${MOST_WAITING}) AS counted) < ${MOST_WAITING}`;

/**
 * A command for one server, live or not; its ID, undefined when too many wait for the server. It lives for
 * `ttlSeconds`, or as long as is usual.
 */
export async function insertCommand(
  on: Queryable,
  guildId: string,
  serverId: string,
  command: NewCommand,
  ttlSeconds: number | undefined,
  now: Date,
): Promise<string | undefined> {
  const [row] = await on.query<{ commandId: string }>(
    `${INSERT}
     SELECT $1, $9, NULL, $2, $3::bigint, $4, $5::json, $6, $7::timestamptz, ${END}
     FROM (VALUES (1)) AS one LEFT JOIN activity.servers ON guild_id = $1 AND server_id = $9
     WHERE ${hasRoom('$9')}
     RETURNING command_id AS "commandId"`,
    [...values(command, guildId, now), ttlSeconds, serverId],
  );
  return row?.commandId;
}

/** What became of a command for many servers. */
export interface Sent {
  commandIds: string[];
  /** Live servers that got none, since too many wait for them. */
  fullServers: number;
}

/** A command for each live server of the guild, or of a place, in one statement. */
export async function insertForLive(
  on: Queryable,
  guildId: string,
  placeId: number | undefined,
  command: NewCommand,
  ttlSeconds: number | undefined,
  now: Date,
): Promise<Sent> {
  const [sent] = await on.query<Sent>(
    `WITH reached AS (
       SELECT server_id, interval_seconds, ${hasRoom('servers.server_id')} AS has_room FROM activity.servers
       WHERE guild_id = $1 AND live_until > $7 AND ($9::bigint IS NULL OR place_id = $9)
     ), added AS (
       ${INSERT}
       SELECT $1, server_id, NULL, $2, $3::bigint, $4, $5::json, $6, $7::timestamptz, ${END}
       FROM reached WHERE has_room
       RETURNING command_id
     )
     SELECT ARRAY(SELECT command_id FROM added) AS "commandIds",
       (SELECT count(*) FROM reached WHERE NOT has_room)::int AS "fullServers"`,
    [...values(command, guildId, now), ttlSeconds, placeId],
  );
  return sent ?? { commandIds: [], fullServers: 0 };
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
 * were away, no server could show that it lives. Where too many wait already, the oldest of them expire. Returns how
 * many servers have one now, and for how many it was made by this call.
 */
export async function insertDecision(
  on: Queryable,
  guildId: string,
  decision: Decision,
  command: NewCommand,
  now: Date,
): Promise<{ servers: number; added: number }> {
  const [row] = await on.query<{ servers: number; added: number }>(
    `WITH stored AS (
       SELECT server_id FROM activity.commands WHERE guild_id = $1 AND event_id = $9
     ), reached AS (
       SELECT server_id, interval_seconds FROM activity.servers
       WHERE guild_id = $1 AND live_until > least($7, $12::timestamptz) AND ($10::bigint IS NULL OR place_id = $10)
         AND server_id IS DISTINCT FROM $11 AND ($8::timestamptz IS NULL OR $8 > $7)
         AND server_id NOT IN (SELECT server_id FROM stored)
     ), crowding AS (
       SELECT oldest.command_id FROM reached CROSS JOIN LATERAL (
         SELECT command_id ${waitingFor('reached.server_id')} ORDER BY place DESC OFFSET ${MOST_WAITING - 1}
         FOR UPDATE SKIP LOCKED
       ) AS oldest
     ), expired AS (
       UPDATE activity.commands SET expires_at = $7 FROM crowding
       WHERE guild_id = $1 AND commands.command_id = crowding.command_id
     ), added AS (
       ${INSERT}
       SELECT $1, server_id, $9, $2, $3::bigint, $4, $5::json, $6, $7::timestamptz, least($8::timestamptz, ${USUAL_END})
       FROM reached
       ON CONFLICT (guild_id, event_id, server_id) WHERE event_id IS NOT NULL DO NOTHING
       RETURNING server_id
     )
     SELECT (SELECT count(*) FROM added)::int AS added,
       (SELECT count(*) FROM (SELECT server_id FROM stored UNION SELECT server_id FROM added) AS told)::int AS servers`,
    [
      ...values(command, guildId, now),
      decision.expiresAt,
      decision.eventId,
      decision.placeId,
      decision.sourceServerId,
      decision.decidedAt,
    ],
  );
  return row ?? { servers: 0, added: 0 };
}
