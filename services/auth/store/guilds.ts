import type { Queryable } from '#kit/postgres/pool.ts';

/** A guild that has or had API keys. */
export interface GuildRecord {
  guildId: string;
  activeKeys: number;
  keys: number;
  lastUsedAt: Date | null;
  suspendedAt: Date | null;
}

/** SQL that selects guilds `g` with the number and the last use of their API keys; `$1` is the current time. */
const GUILD = `SELECT g.guild_id AS "guildId", g.suspended_at AS "suspendedAt", k.*
  FROM auth.guilds g CROSS JOIN LATERAL (
    SELECT count(*)::integer AS keys, max(last_used_at) AS "lastUsedAt",
      (count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)))::integer AS "activeKeys"
    FROM auth.keys WHERE guild_id = g.guild_id) k`;

/** Returns a page of guilds, ordered by ID, starting after the guild `after`. */
export function selectGuilds(database: Queryable, after: string, now: Date, limit: number): Promise<GuildRecord[]> {
  return database.query<GuildRecord>(`${GUILD} WHERE g.guild_id > $2 ORDER BY g.guild_id LIMIT $3`, [
    now,
    after,
    limit,
  ]);
}

export async function selectGuild(database: Queryable, guildId: string, now: Date): Promise<GuildRecord | undefined> {
  const [guild] = await database.query<GuildRecord>(`${GUILD} WHERE g.guild_id = $2`, [now, guildId]);
  return guild;
}

/**
 * Locks the guild, and returns the time at which it was suspended, or null; undefined if the auth service does not know
 * the guild.
 */
export async function lockSuspension(
  transaction: Queryable,
  guildId: string,
): Promise<{ suspendedAt: Date | null } | undefined> {
  const [guild] = await transaction.query<{ suspendedAt: Date | null }>(
    'SELECT suspended_at AS "suspendedAt" FROM auth.guilds WHERE guild_id = $1 FOR UPDATE',
    [guildId],
  );
  return guild;
}

/**
 * Suspends the guild, or resumes it if `suspendedAt` is null. Marks the guild's API keys that are not revoked as
 * changed, and returns the numbers of these keys.
 */
export async function setSuspended(
  transaction: Queryable,
  guildId: string,
  suspendedAt: Date | null,
  now: Date,
): Promise<number[]> {
  await transaction.query('UPDATE auth.guilds SET suspended_at = $2 WHERE guild_id = $1', [guildId, suspendedAt]);
  // Locks the rows of the API keys in the same order as recordUse does, because another order can cause deadlocks.
  const rows = await transaction.query<{ number: number }>(
    `WITH locked AS (
       SELECT number FROM auth.keys WHERE guild_id = $1 AND revoked_at IS NULL ORDER BY number FOR NO KEY UPDATE)
     UPDATE auth.keys k SET changed_at = $2, version = version + 1
     FROM locked WHERE k.guild_id = $1 AND k.number = locked.number
     RETURNING k.number`,
    [guildId, now],
  );
  return rows.map(({ number }) => number);
}

/**
 * Returns the API key that a secret belongs to, even if the secret was rotated; undefined if there is no such secret.
 */
export async function findSecret(
  database: Queryable,
  guildId: string,
  hash: Buffer,
): Promise<{ number: number; isRevoked: boolean } | undefined> {
  const [found] = await database.query<{ number: number; isRevoked: boolean }>(
    `SELECT k.number, k.revoked_at IS NOT NULL AS "isRevoked"
     FROM auth.key_secrets s JOIN auth.keys k ON k.guild_id = s.guild_id AND k.number = s.number
     WHERE s.guild_id = $1 AND s.hash = $2`,
    [guildId, hash],
  );
  return found;
}

/**
 * Adds one to the number of changes that persons have made in a guild on the day (UTC) of `now`. Returns false, and adds
 * nothing, if there are already `max`.
 */
export async function addPersonChange(
  transaction: Queryable,
  guildId: string,
  now: Date,
  max: number,
): Promise<boolean> {
  const added = await transaction.query(
    `INSERT INTO auth.guilds AS g (guild_id, next_number, person_changes_on, person_changes)
     VALUES ($1, 1, ($2::timestamptz AT TIME ZONE 'UTC')::date, 1)
     ON CONFLICT (guild_id) DO UPDATE SET
       person_changes = CASE WHEN g.person_changes_on < excluded.person_changes_on THEN 1 ELSE g.person_changes + 1 END,
       person_changes_on = greatest(g.person_changes_on, excluded.person_changes_on)
     WHERE g.person_changes_on < excluded.person_changes_on OR g.person_changes < $3
     RETURNING 1`,
    [guildId, now, max],
  );
  return added.length > 0;
}
