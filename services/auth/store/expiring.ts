import { guildStatement, inDueGuilds } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { KeyRecord } from '../domain/key.ts';
import { KEY, withSecrets } from './keys.ts';

const DUE = `revoked_at IS NULL AND expiring_reported IS DISTINCT FROM expires_at AND expires_at > $1 AND expires_at <= $2`;

const CLAIM_EXPIRING = guildStatement(
  3,
  (andGuild) => `WITH due AS MATERIALIZED (
       SELECT guild_id, number FROM auth.keys
       WHERE ${DUE} ${andGuild('keys')}
       ORDER BY expires_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
     ), k AS (
       UPDATE auth.keys SET expiring_reported = expires_at
       WHERE (guild_id, number) IN (SELECT guild_id, number FROM due) ${andGuild('keys')} RETURNING *
     )
     SELECT ${KEY} FROM k ${withSecrets(andGuild('key_secrets'))} ORDER BY k.expires_at, k.guild_id, k.number`,
);

/**
 * Marks up to `limit` API keys that expire between `now` and `before`, and whose coming expiry was not reported yet, as
 * reported, and returns them, the first to expire first.
 */
export function claimExpiring(transaction: Queryable, now: Date, before: Date, limit: number): Promise<KeyRecord[]> {
  const due = { table: 'auth.keys', condition: DUE, order: 'expires_at', values: [now, before], limit };
  return inDueGuilds(transaction, due, (run) => run<KeyRecord>(CLAIM_EXPIRING, [now, before, limit]));
}
