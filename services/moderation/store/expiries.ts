import { guildStatement, inDueGuilds } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Punishment } from '../domain/punishment.ts';
import type { ShieldEntry } from '../domain/shield-entry.ts';
import { PUNISHMENT_COLUMNS } from './columns.ts';
import { ENTRY } from './shield.ts';

/** The subquery is evaluated once; a bare clock_timestamp() is volatile and cannot use an index. */
const NOW = '(SELECT clock_timestamp())';
const EXPIRED = `ended_at IS NULL AND expires_at < 'infinity' AND expires_at > expiry_reported_to AND expires_at <= ${NOW}`;

const CLAIM_EXPIRED = guildStatement(
  1,
  (andGuild) => `WITH due AS MATERIALIZED (
       SELECT guild_id, id FROM moderation.punishments
       WHERE ${EXPIRED} ${andGuild('punishments')}
       ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
     ), ended AS (
       UPDATE moderation.punishments SET ended_at = expires_at
       WHERE (guild_id, id) IN (SELECT guild_id, id FROM due) ${andGuild('punishments')} RETURNING *
     )
     SELECT guild_id AS "guildId", ${PUNISHMENT_COLUMNS} FROM ended ORDER BY ended.expires_at, guild_id, ended.id`,
);

/**
 * Marks up to `limit` expired punishments as ended and returns them, both in the order of their expiry times. Skips rows that
 * another transaction has locked.
 */
export function claimExpiredPunishments(on: Queryable, limit: number): Promise<(Punishment & { guildId: string })[]> {
  const due = { table: 'moderation.punishments', condition: EXPIRED, order: 'expires_at', values: [], limit };
  return inDueGuilds(on, due, (run) => run(CLAIM_EXPIRED, [limit]));
}

/** The entries of flagged lists whose expiry is not reported yet. */
const EXPIRED_ENTRY = `expires_at < 'infinity' AND expires_at > expiry_reported_to AND expires_at <= ${NOW}`;

/**
 * Marks the expiry of up to `limit` entries of guilds' flagged lists as reported, the longest expired first, and returns
 * the entries in the order of their expiry times. The entries stay in the lists until they are removed.
 *
 * The UPDATE is not in a WITH query, because Citus would then update only one copy of this reference table. The ORDER BY ends with the
 * primary key, so that the UPDATE selects the same rows in each copy. It checks each row again, which another transaction may
 * have extended while the UPDATE waited for its lock.
 */
export async function claimExpiredEntries(on: Queryable, limit: number): Promise<ShieldEntry[]> {
  const claimed = await on.query<ShieldEntry & { expiresAt: Date }>(
    `UPDATE moderation.shield SET expiry_reported_to = expires_at
     WHERE ${EXPIRED_ENTRY} AND (guild_id, game_id) IN (
       SELECT guild_id, game_id FROM moderation.shield WHERE guild_id <> '0' AND ${EXPIRED_ENTRY}
       ORDER BY expires_at, guild_id, game_id LIMIT $1
     ) RETURNING ${ENTRY}`,
    [limit],
  );
  return claimed.toSorted((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime());
}
