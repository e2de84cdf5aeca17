import type { Queryable } from '#kit/postgres.ts';
import type { Action, Kind, LogEntry, Punishment } from '../domain/punishment.ts';
import { EVERYWHERE, PUNISHMENT } from './columns.ts';

/** For how long the oldest transaction that is writing now has been at it, in milliseconds; 0 when none is. */
export async function oldestWriterAge(on: Queryable): Promise<number> {
  // Whoever may not look at the sessions of other roles sees none of them; all replicas have the same role.
  const [row] = await on.query<{ age: number }>(
    `SELECT COALESCE(extract(epoch FROM clock_timestamp() - min(xact_start)) * 1000, 0)::float8 AS age
     FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL`,
  );
  return Math.max(0, row?.age ?? 0);
}

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
  { now, after, limit }: { now: Date; after: ActivePosition; limit: number },
): Promise<Punishment[]> {
  return on.query(
    `SELECT ${PUNISHMENT} FROM moderation.punishments
     WHERE guild_id = $1 AND kind = $2 AND ended_at IS NULL AND expires_at > $3
       AND (expires_at, id) > (COALESCE($4::timestamptz, 'infinity'), $5)
       AND ($6::bigint IS NULL OR place_id IN (${EVERYWHERE}, $6))
     ORDER BY expires_at, id LIMIT $7`,
    [guildId, kind, now, after.expiresAt, after.id, placeId, limit],
  );
}

export interface ChangedPunishment extends Punishment {
  updatedAt: Date;
  /** Lifted, or expired and followed by another. */
  isEnded: boolean;
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
  return on.query(
    `SELECT ${PUNISHMENT}, updated_at AS "updatedAt", ended_at IS NOT NULL AS "isEnded",
       CASE WHEN ended_at < expires_at THEN ended_at END AS "liftedAt"
     FROM moderation.punishments
     WHERE guild_id = $1 AND kind = $2 AND (updated_at, id) > ($3, $4)
       AND ($5::bigint IS NULL OR place_id IN (${EVERYWHERE}, $5))
     ORDER BY updated_at, id LIMIT $6`,
    [guildId, kind, after.updatedAt, after.id, placeId, limit],
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
  if (filters.before) conditions.push(`created_at < ${place(filters.before)}`);
  if (after) conditions.push(`(created_at, id) < (${place(after.createdAt)}, ${place(after.id)})`);
  return on.query(
    `SELECT id, action, game_id AS "gameId", game_username AS "gameUsername", reason,
       moderator_game_id AS "moderatorGameId", moderator_chat_id AS "moderatorChatId",
       source_server_id AS "sourceServerId", NULLIF(place_id, 0) AS "placeId", duration_seconds AS "durationSeconds",
       expires_at AS "expiresAt", created_at AS "createdAt"
     FROM moderation.log WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT ${place(limit)}`,
    values,
  );
}
