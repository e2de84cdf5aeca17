import type { ApiError } from '#kit/errors.ts';
import { byGuildOrError, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import { prepared, type Queryable } from '#kit/postgres/pool.ts';
import { ALL_GUILDS } from '../domain/shield-entry.ts';
import type { StandingRow } from '../domain/standing.ts';
import { EVERYWHERE, PUNISHMENT_COLUMNS } from './columns.ts';

const FIND_STANDINGS = guildStatement(
  5,
  (andGuild) => `SELECT requested.request, standing.*
   FROM unnest((SELECT $1::int[]), (SELECT $2::text[]), (SELECT $3::bigint[]), (SELECT $4::bigint[]))
     AS requested (request, guild_id, game_id, place_id)
   CROSS JOIN LATERAL (
     SELECT ${PUNISHMENT_COLUMNS}, NULL AS "guildId", NULL AS category, NULL AS source, NULL AS actor,
       NULL::timestamptz AS "flaggedAt"
     FROM moderation.punishments
     WHERE guild_id = requested.guild_id ${andGuild('punishments')} AND punishments.game_id = requested.game_id
       AND punishments.place_id IN (${EVERYWHERE}, requested.place_id)
       AND ended_at IS NULL AND expires_at > $5
     UNION ALL
     SELECT NULL, 'flag', shield.game_id, game_username, reason, NULL, NULL, NULL, NULL, NULL,
       NULLIF(expires_at, 'infinity'), guild_id, category, source, actor, flagged_at
     FROM moderation.shield
     WHERE guild_id IN (requested.guild_id, '${ALL_GUILDS}') AND shield.game_id = requested.game_id AND expires_at > $5
     OFFSET 0
   ) AS standing`,
  prepared,
);

/** A request for the standings of players, which includes the punishments of a place unless `placeId` is null. */
export interface StandingsRequest {
  guildId: string;
  gameIds: readonly number[];
  placeId: number | null;
}

/**
 * Reads, in one statement for several requests, the punishments in force against players and the players' unexpired entries
 * of the flagged list. Returns a list of rows for each request. With Citus there is one statement per guild, and requests for a guild that
 * could not be read get an error instead of a list.
 */
export function findStandings(
  on: Queryable,
  requests: readonly StandingsRequest[],
  now: Date,
): Promise<(StandingRow[] | ApiError)[]> {
  return byGuildOrError(on, requests, guildOf, async (part, run) => {
    const rows = await run<StandingRow & { request: number }>(FIND_STANDINGS, [...playersOf(part), now]);
    const found = part.map((): StandingRow[] => []);
    for (const { request, ...row } of rows) found[request]?.push(row);
    return found;
  });
}

/** The first values of FIND_STANDINGS: the number of the request, guild, ID and place of each requested player. */
function playersOf(requests: readonly StandingsRequest[]): unknown[] {
  const [numbers, guilds, games, places]: [number[], string[], number[], number[]] = [[], [], [], []];
  for (const [number, { guildId, gameIds, placeId }] of requests.entries()) {
    for (const gameId of gameIds) {
      numbers.push(number);
      guilds.push(guildId);
      games.push(gameId);
      places.push(placeId ?? EVERYWHERE);
    }
  }
  return [numbers, guilds, games, places];
}
