import type { Queryable } from '#kit/postgres/pool.ts';

/**
 * The maximum number of newest events of a guild that are searched: more than are stored while a request is in flight, or
 * while a gateway accepts a key whose revocation has not reached it.
 */
const MAX_SEARCHED = 20_000;

/** What the newest event about a key says. */
export interface KeyChange {
  isRevoked: boolean;
  /** null: all scopes. */
  scopes: string[] | null;
}

/** Returns what the newest of a guild's recent events about a key says; undefined if there is none. */
export async function findKeyChange(
  on: Queryable,
  { guildId, keyId }: { guildId: string; keyId: string },
  newestSeq: number,
): Promise<KeyChange | undefined> {
  const [found] = await on.query<KeyChange>(
    `SELECT type <> 'key.changed' OR data->>'revoked_at' IS NOT NULL AS "isRevoked", data->'scopes' AS scopes
     FROM events.log
     WHERE guild_id = $1 AND day >= (clock_timestamp() AT TIME ZONE 'UTC')::date - 1
       AND seq > $3::bigint - ${MAX_SEARCHED} AND type IN ('key.changed', 'key.revoked', 'key.leaked')
       AND data->>'id' = $2
     ORDER BY day DESC, seq DESC LIMIT 1`,
    [guildId, keyId, newestSeq],
  );
  return found;
}
