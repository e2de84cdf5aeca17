import type { Queryable } from '#kit/postgres/pool.ts';
import { type CommandRecord, OUTCOME_JOIN, RECORD } from './command-records.ts';

/** Identifies a command of a guild. */
export interface CommandRef {
  guildId: string;
  commandId: string;
}

/** Returns commands of one or more guilds with their outcome at the time `now`. */
export function findCommands(
  on: Queryable,
  refs: readonly CommandRef[],
  now: Date,
): Promise<(CommandRecord & { guildId: string })[]> {
  return on.query(
    `SELECT commands.guild_id AS "guildId", ${RECORD}
     FROM unnest($1::text[], $3::uuid[]) AS wanted (wanted_guild, wanted_command)
     JOIN activity.commands ON guild_id = wanted_guild AND command_id = wanted_command ${OUTCOME_JOIN}
     ORDER BY guild_id, place`,
    [refs.map(({ guildId }) => guildId), now, refs.map(({ commandId }) => commandId)],
  );
}

/**
 * Marks up to `limit` expired commands as finished, the longest expired first. Returns those that were not finished
 * before. Rows that another transaction has locked are left for the next call.
 */
export function claimExpiredCommands(on: Queryable, now: Date, limit: number): Promise<CommandRef[]> {
  return on.query(
    `WITH due AS MATERIALIZED (
       SELECT guild_id, command_id FROM activity.commands WHERE reported_at IS NULL AND expires_at <= $1
       ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
     )
     UPDATE activity.commands SET reported_at = $1 WHERE (guild_id, command_id) IN (SELECT guild_id, command_id FROM due)
     RETURNING guild_id AS "guildId", command_id AS "commandId"`,
    [now, limit],
  );
}
