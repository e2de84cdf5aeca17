import { prepared, type Queryable } from '#kit/postgres.ts';
import { COLUMNS, type LeasedCommand } from './commands.ts';

export interface Asked {
  guildId: string;
  serverId: string;
  limit: number;
}

const LEASE_COMMANDS = prepared(
  `WITH due AS (
     SELECT queued.* FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::int[]))
     AS asked (guild_id, server_id, wanted)
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
);

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
  const rows = await on.query<LeasedCommand & { place: number }>(LEASE_COMMANDS, [
    asked.map(({ guildId }) => guildId),
    asked.map(({ serverId }) => serverId),
    asked.map(({ limit }) => limit),
    now,
    until,
  ]);
  return rows.sort((a, b) => a.place - b.place);
}

const READ_LEASE_ENDS = prepared(
  `SELECT asked.guild_id AS "guildId", asked.server_id AS "serverId", first.leased_until AS "leasedUntil"
   FROM unnest((SELECT $1::text[]), (SELECT $2::text[])) AS asked (guild_id, server_id)
   CROSS JOIN LATERAL (
     SELECT min(leased_until) AS leased_until FROM activity.commands
     WHERE commands.guild_id = asked.guild_id AND commands.server_id = asked.server_id
       AND acked_at IS NULL AND expires_at > $3
   ) AS first WHERE first.leased_until IS NOT NULL`,
);

/** For each server whose queue holds leased commands alone: when the first of the leases ends. */
export function readLeaseEnds(
  on: Queryable,
  asked: readonly Omit<Asked, 'limit'>[],
  now: Date,
): Promise<{ guildId: string; serverId: string; leasedUntil: Date }[]> {
  return on.query(READ_LEASE_ENDS, [asked.map(({ guildId }) => guildId), asked.map(({ serverId }) => serverId), now]);
}

/** Ends a lease whose commands were not handed over after all, as if it had never been. */
export async function giveBack(on: Queryable, commands: readonly LeasedCommand[]): Promise<void> {
  await on.query(
    `UPDATE activity.commands SET attempt = attempt - 1, leased_until = NULL
     FROM unnest($1::text[], $2::uuid[], $3::timestamptz[]) AS given (guild_id, command_id, until)
     WHERE commands.guild_id = given.guild_id AND commands.command_id = given.command_id
       AND leased_until = given.until AND acked_at IS NULL`,
    [
      commands.map(({ guildId }) => guildId),
      commands.map(({ commandId }) => commandId),
      commands.map(({ leasedUntil }) => leasedUntil),
    ],
  );
}
