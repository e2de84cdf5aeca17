import { byGuild, guildOf, guildStatement, inDueGuilds } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { type CommandRecord, outcomeJoin, RECORD } from './command-records.ts';

/** Identifies a command of a guild. */
export interface CommandRef {
  guildId: string;
  commandId: string;
}

const FIND_COMMANDS = guildStatement(
  3,
  (andGuild) => `SELECT commands.guild_id AS "guildId", ${RECORD}
       FROM unnest($1::text[], $3::uuid[]) AS wanted (wanted_guild, wanted_command)
       JOIN activity.commands ON guild_id = wanted_guild AND command_id = wanted_command ${andGuild('commands')}
       ${outcomeJoin(andGuild('deliveries'))}
       ORDER BY guild_id, place`,
);

/** Returns commands of one or more guilds with their outcome at the time `now`. */
export function findCommands(
  on: Queryable,
  refs: readonly CommandRef[],
  now: Date,
): Promise<(CommandRecord & { guildId: string })[]> {
  return byGuild(on, refs, guildOf, (part, run) =>
    run(FIND_COMMANDS, [part.map(guildOf), now, part.map(({ commandId }) => commandId)]),
  );
}

const IS_EXPIRED = 'reported_at IS NULL AND expires_at <= $1';

const CLAIM_EXPIRED = guildStatement(
  2,
  (andGuild) => `WITH due AS MATERIALIZED (
       SELECT guild_id, command_id FROM activity.commands WHERE ${IS_EXPIRED} ${andGuild('commands')}
       ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
     )
     UPDATE activity.commands SET reported_at = $1 WHERE (guild_id, command_id) IN (SELECT guild_id, command_id FROM due)
       ${andGuild('commands')}
     RETURNING guild_id AS "guildId", command_id AS "commandId"`,
);

/**
 * Marks up to `limit` expired commands as finished, the longest expired first. Returns those that were not finished
 * before. Rows that another transaction has locked are left for the next call.
 */
export function claimExpiredCommands(on: Queryable, now: Date, limit: number): Promise<CommandRef[]> {
  const due = { table: 'activity.commands', condition: IS_EXPIRED, order: 'expires_at', values: [now], limit };
  return inDueGuilds(on, due, (run) => run(CLAIM_EXPIRED, [now, limit]));
}
