import type { Queryable } from '#kit/postgres/pool.ts';
import type { Action, Kind, LogEntry, Punishment } from '../domain/punishment.ts';
import { EVERYWHERE, PUNISHMENT_COLUMNS } from './columns.ts';

/** The maximum value of a bigint column, which sorts after every ID. */
const MAX_ID = '9223372036854775807';

/** A position in the list of active punishments, from which the next page continues. */
export interface ActivePosition {
  /** The time at which the last punishment of the previous page expires; null if that punishment is permanent. */
  expiresAt: Date | null;
  id: number;
}

/** Selects punishments of one kind; with a place, those that apply there. */
export interface ActiveFilters {
  kind: Kind;
  placeId: number | undefined;
  gameId?: number | undefined;
}

/** Returns up to `limit` punishments in force after a position, ordered by expiry time, permanent ones last. */
export function listActive(
  on: Queryable,
  guildId: string,
  { kind, placeId, gameId }: ActiveFilters,
  { after, limit }: { after: ActivePosition; limit: number },
): Promise<Punishment[]> {
  // A single row comparison skips expired rows and rows before the position. With two separate conditions PostgreSQL
  // may start the index scan at the less selective one and then skip over all expired rows.
  const at = `COALESCE($3::timestamptz, 'infinity')`;
  const now = '(SELECT clock_timestamp())';
  const values: unknown[] = [guildId, kind, after.expiresAt, after.id, limit];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const placed = placeId === undefined ? undefined : parameter(placeId);
  // The condition of the index punishments_active_player.
  const inAllPlaces = placed === undefined ? 'AND (game_id > 0) IS TRUE' : '';
  const player = gameId === undefined ? '' : `AND game_id = ${parameter(gameId)} ${inAllPlaces}`;
  const rows = (place: string) => `
    SELECT * FROM moderation.punishments
    WHERE guild_id = $1 AND kind = $2 AND ended_at IS NULL ${player}
      AND (expires_at, id) > (GREATEST(${at}, ${now}), CASE WHEN ${at} > ${now} THEN $4 ELSE ${MAX_ID} END) ${place}
    ORDER BY expires_at, id LIMIT $5`;
  return on.query(
    `SELECT ${PUNISHMENT_COLUMNS} FROM (${withPlaceFilter(rows, placed)}) AS found
     ORDER BY found.expires_at, found.id LIMIT $5`,
    values,
  );
}

/** Counts up to `limit` punishments in force. */
export async function countActive(on: Queryable, guildId: string, kind: Kind, limit: number): Promise<number> {
  const [row] = await on.query<{ punishments: number }>(
    `SELECT count(*)::int AS punishments FROM (
       SELECT 1 FROM moderation.punishments
       WHERE guild_id = $1 AND kind = $2 AND ended_at IS NULL AND expires_at > (SELECT clock_timestamp())
       ORDER BY expires_at, id LIMIT $3
     ) AS active`,
    [guildId, kind, limit],
  );
  return row?.punishments ?? 0;
}

/**
 * Builds a query for the punishments that apply in one place (a part of a game): those of the place itself and those
 * that apply everywhere. Without a place the query returns all punishments. With one it consists of two ordered index
 * scans, because a single scan would have to skip the rows of all other places.
 */
function withPlaceFilter(rows: (place: string) => string, parameter: string | undefined): string {
  if (parameter === undefined) return rows('');
  return `(${rows(`AND place_id = ${EVERYWHERE}`)}) UNION ALL (${rows(`AND place_id = ${parameter}`)})`;
}

/** Returns up to `limit` punishments in force against a player, in any place. */
export function listPlayerPunishments(
  on: Queryable,
  guildId: string,
  gameId: number,
  limit: number,
): Promise<Punishment[]> {
  return on.query(
    `SELECT ${PUNISHMENT_COLUMNS} FROM moderation.punishments
     WHERE guild_id = $1 AND game_id = $2 AND ended_at IS NULL AND expires_at > clock_timestamp() ORDER BY id LIMIT $3`,
    [guildId, gameId, limit],
  );
}

/** Returns up to `limit` bans in force against a player, the most important first: the one that applies everywhere. */
export function listPlayerBans(on: Queryable, guildId: string, gameId: number, limit: number): Promise<Punishment[]> {
  return on.query(
    `SELECT ${PUNISHMENT_COLUMNS} FROM moderation.punishments
     WHERE guild_id = $1 AND game_id = $2 AND kind = 'ban' AND ended_at IS NULL AND expires_at > clock_timestamp()
     ORDER BY place_id LIMIT $3`,
    [guildId, gameId, limit],
  );
}

/**
 * Returns a player's ban and mute in force, in no order: of each kind the one that applies everywhere, otherwise the
 * newest of a place.
 */
export function findPrimaryPunishments(on: Queryable, guildId: string, gameId: number): Promise<Punishment[]> {
  return on.query(
    `SELECT DISTINCT ON (kind) ${PUNISHMENT_COLUMNS} FROM moderation.punishments
     WHERE guild_id = $1 AND game_id = $2 AND ended_at IS NULL AND expires_at > clock_timestamp()
     ORDER BY kind, (place_id = ${EVERYWHERE}) DESC, id DESC`,
    [guildId, gameId],
  );
}

export interface ChangedPunishment extends Punishment {
  updatedAt: Date;
  /** True if the punishment is neither lifted nor expired, by the database's clock. */
  isInForce: boolean;
  /** The time at which the punishment was lifted; null if it was not lifted. */
  liftedAt: Date | null;
}

/** Returns up to `limit` punishments that were created or lifted after a position, the least recently changed first. */
export function listChanged(
  on: Queryable,
  guildId: string,
  { kind, placeId }: { kind: Kind; placeId: number | undefined },
  { after, limit }: { after: { updatedAt: Date; id: number }; limit: number },
): Promise<ChangedPunishment[]> {
  const rows = (place: string) => `
    SELECT * FROM moderation.punishments
    WHERE guild_id = $1 AND kind = $2 AND (updated_at, id) > ($3, $4) ${place}
    ORDER BY updated_at, id LIMIT $5`;
  return on.query(
    `SELECT ${PUNISHMENT_COLUMNS}, updated_at AS "updatedAt",
       ended_at IS NULL AND expires_at > clock_timestamp() AS "isInForce",
       CASE WHEN ended_at < expires_at THEN ended_at END AS "liftedAt"
     FROM (${withPlaceFilter(rows, placeId === undefined ? undefined : '$6')}) AS found
     ORDER BY found.updated_at, found.id LIMIT $5`,
    [guildId, kind, after.updatedAt, after.id, limit, ...(placeId === undefined ? [] : [placeId])],
  );
}

export interface LogFilters {
  gameId?: number | undefined;
  moderatorGameId?: number | undefined;
  action?: Action | undefined;
  /** Selects log entries created from the time `from`, inclusive, up to the time `before`, exclusive. */
  from?: Date | undefined;
  before?: Date | undefined;
}

/** Returns up to `limit` log entries older than a position, the newest first. */
export function listLog(
  on: Queryable,
  guildId: string,
  filters: LogFilters,
  { after, limit }: { after: { createdAt: Date; id: number } | undefined; limit: number },
): Promise<LogEntry[]> {
  const values: unknown[] = [guildId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = ['guild_id = $1'];
  // The statement has conditions only for filters that are set, so that PostgreSQL plans each combination separately.
  if (filters.gameId !== undefined) conditions.push(`game_id = ${parameter(filters.gameId)}`);
  if (filters.moderatorGameId !== undefined)
    conditions.push(`moderator_game_id = ${parameter(filters.moderatorGameId)}`);
  if (filters.action !== undefined) conditions.push(`action = ${parameter(filters.action)}`);
  if (filters.from) conditions.push(`created_at >= ${parameter(filters.from)}`);
  // Only the lower one of the two upper bounds is used. With both, PostgreSQL may start the index scan at the higher
  // one and then skip over all rows in between.
  if (after && !(filters.before && filters.before <= after.createdAt)) {
    conditions.push(`(created_at, id) < (${parameter(after.createdAt)}, ${parameter(after.id)})`);
  } else if (filters.before) conditions.push(`created_at < ${parameter(filters.before)}`);
  return on.query(
    `SELECT id, action, game_id AS "gameId", game_username AS "gameUsername", reason,
       moderator_game_id AS "moderatorGameId", moderator_chat_id AS "moderatorChatId",
       source_server_id AS "sourceServerId", NULLIF(place_id, 0) AS "placeId", duration_seconds AS "durationSeconds",
       expires_at AS "expiresAt", created_at AS "createdAt"
     FROM moderation.log WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT ${parameter(limit)}`,
    values,
  );
}
