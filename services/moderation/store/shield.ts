import type { Queryable } from '#kit/postgres/pool.ts';
import type { ShieldEntry } from '../domain/shield-entry.ts';

/** The columns of a ShieldEntry, for an SQL SELECT or RETURNING. */
export const ENTRY = `guild_id AS "guildId", game_id AS "gameId", game_username AS "gameUsername", reason, category, source,
  actor, flagged_at AS "flaggedAt", NULLIF(expires_at, 'infinity') AS "expiresAt"`;

/** Locks a guild's flagged list until the transaction ends, so that only one transaction at a time adds entries. */
export async function lockList(transaction: Queryable, guildId: string): Promise<void> {
  const name = `moderation.shield\n${guildId}`;
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}

/**
 * Returns a player's entry of the flagged list, and locks it until the transaction ends; undefined if there is none.
 * Another transaction may add one meanwhile, unless the list is locked with `lockList`.
 */
export async function lockEntry(
  transaction: Queryable,
  guildId: string,
  gameId: number,
): Promise<ShieldEntry | undefined> {
  const [entry] = await transaction.query<ShieldEntry>(
    `SELECT ${ENTRY} FROM moderation.shield WHERE guild_id = $1 AND game_id = $2 FOR UPDATE`,
    [guildId, gameId],
  );
  return entry;
}

/** SQL: true if the flagged list of guild `$1` has fewer than `$10` entries. */
const HAS_ROOM = `$10::int > (SELECT count(*) FROM (
    SELECT 1 FROM moderation.shield WHERE guild_id = $1 ORDER BY game_id LIMIT $10
  ) AS entries)`;

/**
 * Inserts an entry of the flagged list, or replaces the player's entry. Pass `maxEntries` only for a player who is not in the list, after
 * `lockList`: if the list has that many entries already, nothing changes and false is returned.
 *
 * The INSERT is not in a WITH query, because Citus would then change only one copy of this reference table.
 */
export async function putEntry(on: Queryable, entry: ShieldEntry, maxEntries: number | undefined): Promise<boolean> {
  const put = await on.query(
    `INSERT INTO moderation.shield
       (guild_id, game_id, game_username, reason, category, source, actor, flagged_at, expires_at)
     SELECT $1, $2::bigint, $3, $4, $5, $6, $7, $8::timestamptz, COALESCE($9::timestamptz, 'infinity')
     -- With Citus a condition on a maximum that is NULL inserts nothing.
     ${maxEntries === undefined ? '' : `WHERE ${HAS_ROOM}`}
     ON CONFLICT (guild_id, game_id) DO UPDATE SET game_username = excluded.game_username,
       reason = excluded.reason, category = excluded.category, source = excluded.source, actor = excluded.actor,
       flagged_at = excluded.flagged_at, expires_at = excluded.expires_at
     RETURNING 1`,
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
      ...(maxEntries === undefined ? [] : [maxEntries]),
    ],
  );
  return put.length > 0;
}

/**
 * Deletes a player's entry from the flagged list and returns the entry, and whether its expiry was reported before;
 * undefined if there was none.
 */
export async function deleteEntry(
  on: Queryable,
  guildId: string,
  gameId: number,
): Promise<(ShieldEntry & { isExpiryReported: boolean }) | undefined> {
  const [entry] = await on.query<ShieldEntry & { isExpiryReported: boolean }>(
    `DELETE FROM moderation.shield WHERE guild_id = $1 AND game_id = $2
     RETURNING ${ENTRY}, expires_at <= expiry_reported_to AS "isExpiryReported"`,
    [guildId, gameId],
  );
  return entry;
}

/** Returns up to `limit` entries of a flagged list, ordered by the player's game ID, after the player `afterGameId`. */
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

/**
 * Like `listEntries`, without entries that have expired at the time `now`. Expired ones count towards the maximum of a
 * guild's list, so that a page skips no more of them than that.
 */
export function listUnexpired(
  on: Queryable,
  guildId: string,
  { afterGameId, now, limit }: { afterGameId: number; now: Date; limit: number },
): Promise<ShieldEntry[]> {
  return on.query(
    `SELECT ${ENTRY} FROM moderation.shield
     WHERE guild_id = $1 AND game_id > $2 AND expires_at > $3 ORDER BY game_id LIMIT $4`,
    [guildId, afterGameId, now, limit],
  );
}

/** Returns the number of entries in a guild's flagged list, but not more than `max`. */
export async function countEntries(on: Queryable, guildId: string, max: number): Promise<number> {
  const [row] = await on.query<{ entries: number }>(
    `SELECT count(*)::int AS entries FROM (
       SELECT 1 FROM moderation.shield WHERE guild_id = $1 ORDER BY game_id LIMIT $2
     ) AS counted`,
    [guildId, max],
  );
  return row?.entries ?? 0;
}
