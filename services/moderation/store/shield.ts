import type { Queryable } from '#kit/postgres.ts';
import type { ShieldEntry } from '../domain/shield.ts';

const ENTRY = `guild_id AS "guildId", game_id AS "gameId", game_username AS "gameUsername", reason, category, source,
  actor, flagged_at AS "flaggedAt", NULLIF(expires_at, 'infinity') AS "expiresAt"`;

/** Adds an entry or replaces the one of that player. */
export async function putEntry(on: Queryable, entry: ShieldEntry): Promise<void> {
  await on.query(
    `INSERT INTO moderation.shield
       (guild_id, game_id, game_username, reason, category, source, actor, flagged_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, COALESCE($9::timestamptz, 'infinity'))
     ON CONFLICT (guild_id, game_id) DO UPDATE SET game_username = excluded.game_username,
       reason = excluded.reason, category = excluded.category, source = excluded.source, actor = excluded.actor,
       flagged_at = excluded.flagged_at, expires_at = excluded.expires_at`,
    [
      entry.guildId,
      entry.gameId,
      entry.gameUsername,
      entry.reason,
      entry.category,
      entry.source,
      entry.actor,
      entry.flaggedAt,
      entry.expiresAt,
    ],
  );
}

export async function deleteEntry(on: Queryable, guildId: string, gameId: number): Promise<ShieldEntry | undefined> {
  const [entry] = await on.query<ShieldEntry>(
    `DELETE FROM moderation.shield WHERE guild_id = $1 AND game_id = $2 RETURNING ${ENTRY}`,
    [guildId, gameId],
  );
  return entry;
}

/** Up to `limit` entries past a player. */
export function listEntries(
  on: Queryable,
  guildId: string,
  limit: number,
  afterGameId: number,
): Promise<ShieldEntry[]> {
  return on.query(
    `SELECT ${ENTRY} FROM moderation.shield WHERE guild_id = $1 AND game_id > $2 ORDER BY game_id LIMIT $3`,
    [guildId, afterGameId, limit],
  );
}
