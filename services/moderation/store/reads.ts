import type { Queryable } from '#kit/postgres/pool.ts';
import type { Action, Kind, LogEntry, Punishment } from '../domain/punishment.ts';
import { EVERYWHERE, PUNISHMENT } from './columns.ts';

/** Of a bigint column. */
const MAX_ID = '9223372036854775807';

/** A place in the order of the active list. */
export interface ActivePosition {
  /** null: permanent. */
  expiresAt: Date | null;
  id: number;
}

/** Up to `limit` punishments in force, past a position: by when they end, permanent ones last. */
export function listActive(
  on: Queryable,
  guildId: string,
  { kind, placeId }: { kind: Kind; placeId: number | undefined },
  { after, limit }: { after: ActivePosition; limit: number },
): Promise<Punishment[]> {
  // One condition: with two PostgreSQL may begin to read at the wrong one, and pass over everything that has expired.
  const at = `COALESCE($3::timestamptz, 'infinity')`;
  const now = '(SELECT clock_timestamp())';
  const rows = (place: string) => `
    SELECT * FROM moderation.punishments
    WHERE guild_id = $1 AND kind = $2 AND ended_at IS NULL
      AND (expires_at, id) > (GREATEST(${at}, ${now}), CASE WHEN ${at} > ${now} THEN $4 ELSE ${MAX_ID} END) ${place}
    ORDER BY expires_at, id LIMIT $5`;
  return on.query(
    `SELECT ${PUNISHMENT} FROM (${inPlaces(rows, placeId === undefined ? undefined : '$6')}) found ORDER BY found.expires_at, found.id LIMIT $5`,
    [guildId, kind, after.expiresAt, after.id, limit, ...(placeId === undefined ? [] : [placeId])],
  );
}

/**
 * What counts everywhere together with what counts in the place: two reads of an index in order, since one read
 * would pass over the rows of all other places. Everything where no place is given.
 */
function inPlaces(rows: (place: string) => string, parameter: string | undefined): string {
  if (parameter === undefined) return rows('');
  return `(${rows(`AND place_id = ${EVERYWHERE}`)}) UNION ALL (${rows(`AND place_id = ${parameter}`)})`;
}

/** Up to `limit` punishments of a player that are in force, in whatever place. */
export function listOfPlayer(on: Queryable, guildId: string, gameId: number, limit: number): Promise<Punishment[]> {
  return on.query(
    `SELECT ${PUNISHMENT} FROM moderation.punishments
     WHERE guild_id = $1 AND game_id = $2 AND ended_at IS NULL AND expires_at > clock_timestamp() ORDER BY id LIMIT $3`,
    [guildId, gameId, limit],
  );
}

export interface ChangedPunishment extends Punishment {
  updatedAt: Date;
  /** Neither lifted nor expired, by the database's clock. */
  isInForce: boolean;
  /** null when it was not lifted. */
  liftedAt: Date | null;
}

/** Up to `limit` punishments that were made or lifted past a position, the least recently changed first. */
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
    `SELECT ${PUNISHMENT}, updated_at AS "updatedAt", ended_at IS NULL AND expires_at > clock_timestamp() AS "isInForce",
       CASE WHEN ended_at < expires_at THEN ended_at END AS "liftedAt"
     FROM (${inPlaces(rows, placeId === undefined ? undefined : '$6')}) found ORDER BY found.updated_at, found.id LIMIT $5`,
    [guildId, kind, after.updatedAt, after.id, limit, ...(placeId === undefined ? [] : [placeId])],
  );
}

export interface LogFilters {
  gameId?: number | undefined;
  moderatorGameId?: number | undefined;
  action?: Action | undefined;
  /** From here on, and before. */
  from?: Date | undefined;
  before?: Date | undefined;
}

/** Up to `limit` decisions before a position, the newest first. */
export function listLog(
  on: Queryable,
  guildId: string,
  filters: LogFilters,
  { after, limit }: { after: { createdAt: Date; id: number } | undefined; limit: number },
): Promise<LogEntry[]> {
  const values: unknown[] = [guildId];
  const place = (value: unknown) => `$${values.push(value)}`;
  const conditions = ['guild_id = $1'];
  // Written out, so that each combination gets a plan of its own.
  if (filters.gameId !== undefined) conditions.push(`game_id = ${place(filters.gameId)}`);
  if (filters.moderatorGameId !== undefined) conditions.push(`moderator_game_id = ${place(filters.moderatorGameId)}`);
  if (filters.action !== undefined) conditions.push(`action = ${place(filters.action)}`);
  if (filters.from) conditions.push(`created_at >= ${place(filters.from)}`);
  // One upper bound: with two PostgreSQL may begin to read at the wrong one, and pass over all rows between them.
  if (after && !(filters.before && filters.before <= after.createdAt)) {
    conditions.push(`(created_at, id) < (${place(after.createdAt)}, ${place(after.id)})`);
  } else if (filters.before) conditions.push(`created_at < ${place(filters.before)}`);
  return on.query(
    `SELECT id, action, game_id AS "gameId", game_username AS "gameUsername", reason,
       moderator_game_id AS "moderatorGameId", moderator_chat_id AS "moderatorChatId",
       source_server_id AS "sourceServerId", NULLIF(place_id, 0) AS "placeId", duration_seconds AS "durationSeconds",
       expires_at AS "expiresAt", created_at AS "createdAt"
     FROM moderation.log WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT ${place(limit)}`,
    values,
  );
}
