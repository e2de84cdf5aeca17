import type { Queryable } from '#kit/postgres/pool.ts';
import type { StoredRights } from './sessions.ts';

/**
 * Claims the reading of a session's rights until `until`, and returns the encrypted credentials. Undefined if the rights
 * were read since `rightsReadAt`, another process reads them, or a reading failed after `failedBefore`.
 */
export async function claimReading(
  database: Queryable,
  tokenHash: Buffer,
  times: { rightsReadAt: Date; failedBefore: Date; now: Date; until: Date },
): Promise<Buffer | undefined> {
  const [claimed] = await database.query<{ credentials: Buffer }>(
    `UPDATE auth.sessions SET reading_until = $5
     WHERE guild_id = '' AND token_hash = $1 AND rights_read_at = $2 AND credentials IS NOT NULL
       AND (reading_until IS NULL OR reading_until < $4) AND (failed_at IS NULL OR failed_at < $3)
     RETURNING credentials`,
    [tokenHash, times.rightsReadAt, times.failedBefore, times.now, times.until],
  );
  return claimed?.credentials;
}

export async function storeRights(
  database: Queryable,
  tokenHash: Buffer,
  { guilds, isOperator, credentials }: StoredRights,
  now: Date,
): Promise<void> {
  await database.query(
    `UPDATE auth.sessions SET guilds = $2, is_operator = $3, credentials = $4, rights_read_at = $5,
       reading_until = NULL, failed_at = NULL
     WHERE guild_id = '' AND token_hash = $1`,
    [tokenHash, JSON.stringify(guilds), isOperator, credentials, now],
  );
}

/** Releases the claim of a reading that failed. */
export async function storeFailure(database: Queryable, tokenHash: Buffer, now: Date): Promise<void> {
  await database.query(
    `UPDATE auth.sessions SET reading_until = NULL, failed_at = $2 WHERE guild_id = '' AND token_hash = $1`,
    [tokenHash, now],
  );
}

/** Returns when the rights of a session were read, and whether a process reads them now; undefined if it has ended. */
export async function selectReading(
  database: Queryable,
  tokenHash: Buffer,
  now: Date,
): Promise<{ rightsReadAt: Date; isReading: boolean } | undefined> {
  const [row] = await database.query<{ rightsReadAt: Date; isReading: boolean }>(
    `SELECT rights_read_at AS "rightsReadAt", coalesce(reading_until > $2, false) AS "isReading"
     FROM auth.sessions WHERE guild_id = '' AND token_hash = $1`,
    [tokenHash, now],
  );
  return row;
}

/** Ends a session whose person has withdrawn the grant. */
export async function deleteByToken(database: Queryable, tokenHash: Buffer): Promise<void> {
  await database.query(`DELETE FROM auth.sessions WHERE guild_id = '' AND token_hash = $1`, [tokenHash]);
}
