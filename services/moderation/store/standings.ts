import { prepared, type Queryable } from '#kit/postgres/pool.ts';
import { ALL_GUILDS } from '../domain/shield-entry.ts';
import type { StandingRow } from '../domain/standing.ts';
import { EVERYWHERE, PUNISHMENT_COLUMNS } from './columns.ts';

const FIND_STANDINGS = prepared(
  `SELECT standing.* FROM unnest((SELECT $2::bigint[])) AS requested (game_id)
   CROSS JOIN LATERAL (
     SELECT ${PUNISHMENT_COLUMNS}, NULL AS "guildId", NULL AS category, NULL AS source, NULL AS actor,
       NULL::timestamptz AS "flaggedAt"
     FROM moderation.punishments
     WHERE guild_id = $1 AND punishments.game_id = requested.game_id AND place_id IN (${EVERYWHERE}, $3)
       AND ended_at IS NULL AND expires_at > $4
     UNION ALL
     SELECT NULL, 'flag', shield.game_id, game_username, reason, NULL, NULL, NULL, NULL, NULL,
       NULLIF(expires_at, 'infinity'), guild_id, category, source, actor, flagged_at
     FROM moderation.shield
     WHERE guild_id IN ($1, '${ALL_GUILDS}') AND shield.game_id = requested.game_id AND expires_at > $4
     OFFSET 0
   ) AS standing`,
);

/**
 * Reads, in one statement, the punishments in force against players and the players' unexpired entries of the flagged
 * list. Includes punishments that apply everywhere, and with `placeId` also those of the place.
 */
export function findStandings(
  on: Queryable,
  guildId: string,
  gameIds: readonly number[],
  placeId: number | null,
  now: Date,
): Promise<StandingRow[]> {
  return on.query(FIND_STANDINGS, [guildId, gameIds, placeId ?? EVERYWHERE, now]);
}
