import type { Queryable } from '#kit/postgres/pool.ts';
import { EVERYWHERE } from './columns.ts';

/** A restriction as the platform lists it. */
export interface SeenRestriction {
  gameId: number;
  placeId: number | null;
  isActive: boolean;
  startedAt: Date | null;
  durationSeconds: number | null;
}

/** A player's scope in which the ban and the restriction differ. */
export interface Difference {
  gameId: number;
  placeId: number | null;
  /** True if nothing is going to resolve the difference already. */
  isUnexpected: boolean;
}

interface Scope {
  guildId: string;
  universeId: number;
}

/** True if a task is open that is going to resolve differences of the player. */
const HAS_TASK = `EXISTS (SELECT FROM moderation.restriction_tasks task
  WHERE task.guild_id = $1 AND task.game_id = found.game_id AND task.state = 'queued' AND task.finished_at IS NULL)`;

/**
 * Returns those of the restrictions that are not as they were when they were last made equal to their bans.
 */
export function findChanged(
  on: Queryable,
  { guildId, universeId }: Scope,
  seen: readonly SeenRestriction[],
): Promise<Difference[]> {
  return on.query(
    `SELECT found.game_id AS "gameId", NULLIF(found.place_id, ${EVERYWHERE}) AS "placeId",
       NOT ${HAS_TASK} AS "isUnexpected"
     FROM (
       SELECT game_id, place_id, started_at, duration, is_active AND (duration IS NULL
         OR started_at + duration * interval '1 second' > (SELECT clock_timestamp())) AS is_active
       FROM unnest($3::bigint[], $4::bigint[], $5::boolean[], $6::timestamptz[], $7::bigint[])
         AS seen (game_id, place_id, is_active, started_at, duration)
     ) AS found
     LEFT JOIN moderation.restrictions mirror ON mirror.guild_id = $1 AND mirror.universe_id = $2
       AND mirror.game_id = found.game_id AND mirror.place_id = found.place_id
     WHERE found.is_active <> COALESCE(mirror.started_at IS NOT NULL AND mirror.ends_at > (SELECT clock_timestamp()), false)
       OR (found.is_active AND (found.started_at <> mirror.started_at
         OR COALESCE(found.started_at + found.duration * interval '1 second', 'infinity') <> mirror.ends_at))`,
    [
      guildId,
      universeId,
      seen.map(({ gameId }) => gameId),
      seen.map(({ placeId }) => placeId ?? EVERYWHERE),
      seen.map(({ isActive }) => isActive),
      seen.map(({ startedAt }) => startedAt),
      seen.map(({ durationSeconds }) => durationSeconds),
    ],
  );
}

/** A ban in force, in a walk through the bans of a guild. */
export interface WalkedBan extends Difference {
  id: number;
  /** The end of the ban as PostgreSQL writes it, because a Date has no microseconds: a page would repeat rows. */
  expiresAt: string;
  /** True if the ban is mirrored to the universe, or to be mirrored later because its place was not one of the universe. */
  isMirrored: boolean;
}

/** Returns up to `limit` bans in force after the ban `after`. A page is full unless it is the last one. */
export function walkBans(
  on: Queryable,
  { guildId, universeId }: Scope,
  after: Pick<WalkedBan, 'expiresAt' | 'id'> | undefined,
  limit: number,
): Promise<WalkedBan[]> {
  return on.query(
    `SELECT found.game_id AS "gameId", NULLIF(found.place_id, ${EVERYWHERE}) AS "placeId", found.id,
       found.expires_at::text AS "expiresAt",
       mirror.punishment_id IS NOT DISTINCT FROM found.id
         OR COALESCE(mirror.foreign_until > clock_timestamp(), false) AS "isMirrored",
       -- The place may belong to the universe by now; that it did not is no difference.
       NOT ${HAS_TASK} AND mirror.foreign_until IS NULL AS "isUnexpected"
     FROM (
       -- The page is cut before the mirror is joined: usually all bans are mirrored, and one statement would read them all.
       SELECT id, game_id, place_id, expires_at FROM moderation.punishments
       WHERE guild_id = $1 AND kind = 'ban' AND ended_at IS NULL AND expires_at > (SELECT clock_timestamp())
         AND (expires_at, id) > ($3::timestamptz, $4::bigint)
       ORDER BY expires_at, id LIMIT $5
     ) AS found
     LEFT JOIN moderation.restrictions mirror ON mirror.guild_id = $1 AND mirror.game_id = found.game_id
       AND mirror.universe_id = $2 AND mirror.place_id = found.place_id
     ORDER BY found.expires_at, found.id`,
    [guildId, universeId, after?.expiresAt ?? '-infinity', after?.id ?? 0, limit],
  );
}

/** A mirror of a ban, in a walk through the mirrors of a universe. */
export interface WalkedMirror extends Difference {
  /** True if the ban of the mirror is not in force any more. */
  isEnded: boolean;
}

/** Returns up to `limit` mirrors of bans in force, after a place and a player. */
export function walkMirrors(
  on: Queryable,
  { guildId, universeId }: Scope,
  after: { gameId: number; placeId: number | null },
  limit: number,
): Promise<WalkedMirror[]> {
  return on.query(
    `SELECT found.game_id AS "gameId", NULLIF(found.place_id, ${EVERYWHERE}) AS "placeId",
       NOT ${HAS_TASK} AS "isUnexpected",
       NOT EXISTS (SELECT FROM moderation.punishments ban WHERE ban.guild_id = $1 AND ban.id = found.punishment_id
         AND ban.ended_at IS NULL) AS "isEnded"
     FROM moderation.restrictions found
     WHERE guild_id = $1 AND universe_id = $2 AND (place_id, game_id) > ($3, $4) AND started_at IS NOT NULL
       -- Whatever ends within a minute needs nothing any more.
       AND ends_at > (SELECT clock_timestamp()) + interval '1 minute'
     ORDER BY place_id, game_id LIMIT $5`,
    [guildId, universeId, after.placeId ?? EVERYWHERE, after.gameId, limit],
  );
}

/** Returns up to `limit` places of the universe in which players are or were restricted. */
export async function listPlaces(on: Queryable, { guildId, universeId }: Scope, limit: number): Promise<number[]> {
  const rowOf = (condition: string) =>
    `SELECT place_id FROM moderation.restrictions WHERE guild_id = $1 AND universe_id = $2 AND ${condition}
     ORDER BY place_id LIMIT 1`;
  const rows = await on.query<{ placeId: number }>(
    // Goes from one place to the next by the index, because a place may have many rows.
    `WITH RECURSIVE places AS (
       (${rowOf(`place_id > ${EVERYWHERE}`)})
       UNION ALL
       SELECT next.place_id FROM places, LATERAL (${rowOf('place_id > places.place_id')}) AS next
     )
     SELECT place_id AS "placeId" FROM places
     WHERE EXISTS (SELECT FROM (${rowOf('place_id = places.place_id AND foreign_until IS NULL')}) AS own) LIMIT $3`,
    [guildId, universeId, limit],
  );
  return rows.map(({ placeId }) => placeId);
}

/**
 * Stores that these restrictions have to be read again. `isDrift`: they are unexpected. `isListed`: the platform names
 * their places in the universe.
 */
export async function markForReading(
  transaction: Queryable,
  { guildId, universeId }: Scope,
  differences: readonly Difference[],
  { isDrift = false, isListed = false }: { isDrift?: boolean | undefined; isListed?: boolean | undefined },
): Promise<void> {
  await transaction.query(
    `INSERT INTO moderation.restrictions AS mirror (guild_id, game_id, universe_id, place_id, needs_read, drifted_at, ends_at)
     SELECT $1::text, game_id, $2::bigint, place_id, true, CASE WHEN $5 THEN clock_timestamp() END, clock_timestamp()
     FROM unnest($3::bigint[], $4::bigint[]) AS seen (game_id, place_id)
     GROUP BY game_id, place_id ORDER BY game_id, place_id
     ON CONFLICT (guild_id, game_id, universe_id, place_id) DO UPDATE SET needs_read = true,
       drifted_at = COALESCE(mirror.drifted_at, excluded.drifted_at),
       foreign_until = ${isListed ? 'NULL' : 'mirror.foreign_until'}`,
    [
      guildId,
      universeId,
      differences.map(({ gameId }) => gameId),
      differences.map(({ placeId }) => placeId ?? EVERYWHERE),
      isDrift,
    ],
  );
}

/**
 * Forgets what these restrictions and their bans were when they were last equal, so that a ban in force is mirrored again
 * instead of being lifted.
 */
export async function forgetAgreements(
  transaction: Queryable,
  { guildId, universeId }: Scope,
  differences: readonly Difference[],
): Promise<void> {
  await transaction.query(
    `UPDATE moderation.restrictions mirror SET punishment_id = NULL, started_at = NULL, written_id = NULL
     FROM unnest($3::bigint[], $4::bigint[]) AS forgotten (game_id, place_id)
     WHERE mirror.guild_id = $1 AND mirror.universe_id = $2
       AND mirror.game_id = forgotten.game_id AND mirror.place_id = forgotten.place_id`,
    [
      guildId,
      universeId,
      differences.map(({ gameId }) => gameId),
      differences.map(({ placeId }) => placeId ?? EVERYWHERE),
    ],
  );
}

/** A difference between the bans of a guild and the restrictions on the platform that is not resolved. */
export interface UnresolvedDifference {
  gameId: number;
  /** Null while no scope of the player is known to differ. */
  universeId: number | null;
  placeId: number | null;
  driftedAt: Date | null;
  state: string | null;
  attempts: number | null;
  lastError: string | null;
}

/** Returns up to `limit` unresolved differences of a guild after a player. */
export function listDifferences(
  on: Queryable,
  guildId: string,
  after: number,
  limit: number,
): Promise<UnresolvedDifference[]> {
  return on.query(
    `SELECT open.game_id AS "gameId", mirror.universe_id AS "universeId",
       NULLIF(mirror.place_id, ${EVERYWHERE}) AS "placeId", mirror.drifted_at AS "driftedAt", task.state, task.attempts, task.last_error AS "lastError"
     FROM (
       (SELECT game_id FROM moderation.restriction_tasks WHERE guild_id = $1 AND game_id > $2 ORDER BY game_id LIMIT $3)
       UNION
       (SELECT game_id FROM moderation.restrictions WHERE guild_id = $1 AND game_id > $2 AND drifted_at IS NOT NULL
        ORDER BY game_id LIMIT $3)
       ORDER BY game_id LIMIT $3
     ) AS open
     LEFT JOIN moderation.restriction_tasks task ON task.guild_id = $1 AND task.game_id = open.game_id
     -- Limited, so that the rows of each player are found by the index, however many the guild has.
     LEFT JOIN LATERAL (
       SELECT universe_id, place_id, drifted_at FROM moderation.restrictions
       WHERE guild_id = $1 AND game_id = open.game_id
         AND (drifted_at IS NOT NULL OR needs_read OR pending_id IS NOT NULL)
       ORDER BY universe_id, place_id LIMIT $3
     ) AS mirror ON true
     ORDER BY open.game_id, mirror.universe_id, mirror.place_id LIMIT $3`,
    [guildId, after, limit],
  );
}

/** The last comparison of all bans with a universe. */
export interface Reconciliation {
  universeId: number;
  reconciledAt: Date | null;
  compared: number | null;
  drifted: number | null;
  nextAt: Date;
  lastError: string | null;
}

export function listReconciliations(on: Queryable, guildId: string): Promise<Reconciliation[]> {
  return on.query(
    `SELECT universe_id AS "universeId", reconciled_at AS "reconciledAt", compared, drifted, reconcile_at AS "nextAt",
       coalesce(last_error, compare_error) AS "lastError"
     FROM moderation.mirrored_universes WHERE guild_id = $1 ORDER BY universe_id LIMIT 100`,
    [guildId],
  );
}

/** What a difference is about: the ban in force here, if there is one. */
export interface DifferenceState {
  gameId: number;
  placeId: number | null;
  banId: number | null;
}

/** Returns the states of the differences, which must have been marked for reading. */
export function findStates(
  on: Queryable,
  { guildId, universeId }: Scope,
  differences: readonly Difference[],
): Promise<DifferenceState[]> {
  return on.query(
    `SELECT mirror.game_id AS "gameId", NULLIF(mirror.place_id, ${EVERYWHERE}) AS "placeId", ban.id AS "banId"
     FROM unnest($3::bigint[], $4::bigint[]) AS seen (game_id, place_id)
     JOIN moderation.restrictions mirror ON mirror.guild_id = $1 AND mirror.universe_id = $2
       AND mirror.game_id = seen.game_id AND mirror.place_id = seen.place_id
     LEFT JOIN moderation.punishments ban ON ban.guild_id = $1 AND ban.game_id = seen.game_id
       AND ban.place_id = seen.place_id AND ban.kind = 'ban' AND ban.ended_at IS NULL
       AND ban.expires_at > clock_timestamp()
     ORDER BY mirror.game_id, mirror.place_id`,
    [
      guildId,
      universeId,
      differences.map(({ gameId }) => gameId),
      differences.map(({ placeId }) => placeId ?? EVERYWHERE),
    ],
  );
}
