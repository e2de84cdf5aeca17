import { byGuild, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import { prepared, type Queryable } from '#kit/postgres/pool.ts';
import type { LeasedCommand } from './commands.ts';
import { sortByServer } from './servers.ts';

/** A request of a game server to fetch its commands. */
export interface FetchRequest {
  guildId: string;
  serverId: string;
  /** The maximum number of commands to fetch. */
  limit: number;
}

/**
 * The clock of the database, which is the same for all processes. The subquery is evaluated once, so that comparisons
 * with it can use an index; a bare clock_timestamp() is volatile and cannot use an index.
 */
const NOW = '(SELECT clock_timestamp())';
const IS_NOT_LEASED = `acked_at IS NULL AND expires_at > ${NOW} AND (leased_until IS NULL OR leased_until <= ${NOW})`;

/**
 * Leases commands to servers. `own`: commands for a named server. `again`: shared commands that were delivered to the
 * server before or reserved for it. `fresh`: shared commands after the server's cursor. `behind` holds only servers
 * whose cursor is not at the newest shared command, so that no other server row is read and locked.
 */
const LEASE_COMMANDS = guildStatement(
  4,
  (andGuild) => `WITH requested AS MATERIALIZED (
     SELECT guild_id, server_id, wanted,
       date_trunc('milliseconds', ${NOW}) + lease_ms * interval '1 millisecond' AS until
     FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::int[]), (SELECT $4::int[]))
       AS requested (guild_id, server_id, wanted, lease_ms)
   ), behind AS MATERIALIZED (
     SELECT requested.guild_id, requested.server_id, wanted, last_place, server.* FROM requested
     CROSS JOIN LATERAL (
       SELECT last_place FROM activity.guilds WHERE guilds.guild_id = requested.guild_id ${andGuild('guilds')} LIMIT 1
     ) AS guild
     CROSS JOIN LATERAL (
       SELECT cursor, place_id, live_until FROM activity.servers
       WHERE servers.guild_id = requested.guild_id AND servers.server_id = requested.server_id AND cursor < last_place
         ${andGuild('servers')}
       FOR UPDATE
     ) AS server
   ), own AS (
     SELECT requested.guild_id, requested.server_id, found.command_id, found.place FROM requested
     CROSS JOIN LATERAL (
       SELECT command_id, place FROM activity.commands
       WHERE commands.guild_id = requested.guild_id AND commands.server_id = requested.server_id AND ${IS_NOT_LEASED}
         ${andGuild('commands')}
       ORDER BY place LIMIT requested.wanted FOR UPDATE SKIP LOCKED
     ) AS found
   ), again AS (
     SELECT requested.guild_id, requested.server_id, found.command_id, found.place FROM requested
     CROSS JOIN LATERAL (
       SELECT deliveries.command_id, shared.place FROM activity.deliveries
       CROSS JOIN LATERAL (
         SELECT place FROM activity.commands
         WHERE commands.guild_id = deliveries.guild_id AND commands.command_id = deliveries.command_id
           ${andGuild('commands')} LIMIT 1
       ) AS shared
       WHERE deliveries.guild_id = requested.guild_id AND deliveries.server_id = requested.server_id
         AND ${IS_NOT_LEASED} ${andGuild('deliveries')}
       ORDER BY shared.place LIMIT requested.wanted FOR UPDATE OF deliveries SKIP LOCKED
     ) AS found
   ), fresh AS MATERIALIZED (
     SELECT behind.guild_id, behind.server_id, found.command_id, found.place, found.expires_at FROM behind
     CROSS JOIN LATERAL (
       SELECT command_id, place, expires_at FROM activity.commands
       WHERE commands.guild_id = behind.guild_id AND commands.server_id = '' AND place > behind.cursor
         AND expires_at > ${NOW} AND live_at < behind.live_until
         AND (commands.place_id IS NULL OR commands.place_id = behind.place_id)
         AND excluded_server_id IS DISTINCT FROM behind.server_id ${andGuild('commands')}
       ORDER BY place LIMIT behind.wanted
     ) AS found
   ), chosen AS MATERIALIZED (
     SELECT * FROM (
       SELECT every.*, requested.wanted, requested.until,
         row_number() OVER (PARTITION BY guild_id, server_id ORDER BY place) AS number
       FROM (
         SELECT 'own' AS kind, *, NULL::timestamptz AS expires_at FROM own
         UNION ALL SELECT 'again', *, NULL FROM again
         UNION ALL SELECT 'fresh', * FROM fresh
       ) AS every JOIN requested USING (guild_id, server_id)
     ) AS numbered WHERE number <= wanted
   ), leased AS (
     UPDATE activity.commands SET attempt = attempt + 1, leased_until = until FROM chosen
     WHERE kind = 'own' AND commands.guild_id = chosen.guild_id AND commands.command_id = chosen.command_id
       ${andGuild('commands')}
     RETURNING commands.guild_id, commands.server_id, commands.command_id, attempt, leased_until, commands.expires_at
   ), leased_again AS (
     UPDATE activity.deliveries SET attempt = attempt + 1, leased_until = until FROM chosen
     WHERE kind = 'again' AND deliveries.guild_id = chosen.guild_id AND deliveries.command_id = chosen.command_id
       AND deliveries.server_id = chosen.server_id ${andGuild('deliveries')}
     RETURNING deliveries.guild_id, deliveries.server_id, deliveries.command_id, attempt, leased_until,
       deliveries.expires_at
   ), handed AS (
     INSERT INTO activity.deliveries (guild_id, command_id, server_id, expires_at, attempt, leased_until)
     SELECT guild_id, command_id, server_id, expires_at, 1, until FROM chosen WHERE kind = 'fresh'
     ON CONFLICT (guild_id, command_id, server_id) DO NOTHING
     RETURNING guild_id, server_id, command_id, attempt, leased_until, expires_at
   ), moved AS (
     UPDATE activity.servers SET cursor = CASE
       WHEN taken.places < found.places OR found.places = behind.wanted THEN coalesce(taken.newest, servers.cursor)
       ELSE behind.last_place END
     FROM behind
     CROSS JOIN LATERAL (
       SELECT count(*) AS places FROM fresh
       WHERE fresh.guild_id = behind.guild_id AND fresh.server_id = behind.server_id
     ) AS found
     CROSS JOIN LATERAL (
       SELECT count(*) AS places, max(place) AS newest FROM chosen
       WHERE kind = 'fresh' AND chosen.guild_id = behind.guild_id AND chosen.server_id = behind.server_id
     ) AS taken
     WHERE servers.guild_id = behind.guild_id AND servers.server_id = behind.server_id ${andGuild('servers')}
   )
   SELECT every.guild_id AS "guildId", every.server_id AS "serverId", every.command_id AS "commandId",
     every.attempt, every.leased_until AS "leasedUntil", every.expires_at AS "expiresAt", command.*
   FROM (SELECT * FROM leased UNION ALL SELECT * FROM leased_again UNION ALL SELECT * FROM handed) AS every
   CROSS JOIN LATERAL (
     SELECT place, type, target_game_id AS "targetGameId", target_game_username AS "targetGameUsername", payload,
       issued_by AS "issuedBy", created_at AS "createdAt"
     FROM activity.commands
     WHERE commands.guild_id = every.guild_id AND commands.command_id = every.command_id ${andGuild('commands')}
     LIMIT 1
   ) AS command`,
  prepared,
);

/**
 * Leases commands to game servers in one statement, for `leaseMs` each. A server may occur only once. Commands that
 * another transaction is leasing are skipped. The result is in the order in which the commands were sent.
 */
export async function leaseCommands(
  on: Queryable,
  requests: readonly (FetchRequest & { leaseMs: number })[],
): Promise<LeasedCommand[]> {
  const rows = await byGuild(on, sortByServer(requests), guildOf, (part, run) =>
    run<LeasedCommand & { place: number }>(LEASE_COMMANDS, [
      part.map(guildOf),
      part.map(({ serverId }) => serverId),
      part.map(({ limit }) => limit),
      part.map(({ leaseMs }) => leaseMs),
    ]),
  );
  return rows.sort((a, b) => a.place - b.place);
}

/**
 * SQL for the time at which the first lease of a server ends; `table` is one of the two tables with leases, commands
 * and deliveries.
 */
const firstLeaseEnd = (table: string, andGuild: string) => `SELECT min(leased_until) AS ends FROM activity.${table}
  WHERE ${table}.guild_id = requested.guild_id AND ${table}.server_id = requested.server_id
    AND acked_at IS NULL AND expires_at > ${NOW} ${andGuild}`;

const READ_LEASE_ENDS = guildStatement(
  2,
  (andGuild) => `SELECT requested.guild_id AS "guildId", requested.server_id AS "serverId",
     extract(epoch FROM least(own.ends, shared.ends) - ${NOW})::float8 * 1000 AS "endsInMs"
   FROM unnest((SELECT $1::text[]), (SELECT $2::text[])) AS requested (guild_id, server_id)
   CROSS JOIN LATERAL (${firstLeaseEnd('commands', andGuild('commands'))}) AS own
   CROSS JOIN LATERAL (${firstLeaseEnd('deliveries', andGuild('deliveries'))}) AS shared
   WHERE own.ends IS NOT NULL OR shared.ends IS NOT NULL`,
  prepared,
);

/**
 * Returns the milliseconds until the first lease in the queue of each server ends. The result has no row for a server
 * without leases.
 */
export function readLeaseEnds(
  on: Queryable,
  servers: readonly Omit<FetchRequest, 'limit'>[],
): Promise<{ guildId: string; serverId: string; endsInMs: number }[]> {
  return byGuild(on, servers, guildOf, (part, run) =>
    run(READ_LEASE_ENDS, [part.map(guildOf), part.map(({ serverId }) => serverId)]),
  );
}

const RELEASE_COMMANDS = guildStatement(
  4,
  (andGuild) => `WITH given AS (
       SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::timestamptz[])
         AS given (guild_id, command_id, server_id, until)
     ), own AS (
       UPDATE activity.commands SET attempt = attempt - 1, leased_until = NULL FROM given
       WHERE commands.guild_id = given.guild_id AND commands.command_id = given.command_id
         AND leased_until = until AND status IS NULL ${andGuild('commands')}
     )
     UPDATE activity.deliveries SET attempt = attempt - 1, leased_until = NULL FROM given
     WHERE deliveries.guild_id = given.guild_id AND deliveries.command_id = given.command_id
       AND deliveries.server_id = given.server_id AND leased_until = until AND status IS NULL
       ${andGuild('deliveries')}`,
);

/** Releases the leases of commands that could not be handed over, and decrements their delivery attempts. */
export async function releaseCommands(on: Queryable, commands: readonly LeasedCommand[]): Promise<void> {
  // The condition uses `status`, which is set together with `acked_at`: with a condition on `acked_at` the planner
  // would search a queue index instead of the primary key.
  await byGuild(on, commands, guildOf, (part, run) =>
    run(RELEASE_COMMANDS, [
      part.map(guildOf),
      part.map(({ commandId }) => commandId),
      part.map(({ serverId }) => serverId),
      part.map(({ leasedUntil }) => leasedUntil),
    ]),
  );
}
