import type { Queryable } from '#kit/postgres/pool.ts';

/**
 * The maximum number of newest events of a guild that are searched: more than are stored while a request is in flight, or
 * while a gateway accepts a key whose change has not reached it.
 */
const MAX_SEARCHED = 20_000;

/** Returns the scopes in the newest of a guild's recent events about changes of a key; undefined if there is none. */
export async function findChangedScopes(
  on: Queryable,
  { guildId, keyId }: { guildId: string; keyId: string },
  newestSeq: number,
): Promise<{ scopes: string[] | null } | undefined> {
  const [found] = await on.query<{ scopes: string[] | null }>(
    // Each day is read on its own, so that the search ends at the oldest seq (see the read of the log).
    `SELECT event.scopes FROM (
       SELECT day FROM events.days WHERE guild_id = $1 AND day >= (clock_timestamp() AT TIME ZONE 'UTC')::date - 1
     ) AS dated CROSS JOIN LATERAL (
       SELECT seq, data->'scopes' AS scopes FROM events.log
       WHERE guild_id = $1 AND day = dated.day AND seq > $3::bigint - ${MAX_SEARCHED}
         AND type = 'key.changed' AND data->>'id' = $2
       ORDER BY seq DESC LIMIT 1
     ) AS event
     ORDER BY event.seq DESC LIMIT 1`,
    [guildId, keyId, newestSeq],
  );
  return found;
}
