import type { Queryable } from '#kit/postgres/pool.ts';

/** A member whose timeout has changed. */
export interface TimeoutChange {
  id: number;
  guildId: string;
  chatId: string;
}

/**
 * Stores that the timeouts of members have changed. Transactions that store changes wait for each other until they have
 * committed, so that a reader never sees an ID before a smaller one. Changes of timeouts are rare.
 */
export async function insertTimeoutChanges(
  transaction: Queryable,
  changes: readonly Pick<TimeoutChange, 'guildId' | 'chatId'>[],
): Promise<void> {
  await transaction.query(`SELECT pg_advisory_xact_lock(hashtextextended('members.timeout_changes', 0))`);
  await transaction.query(
    'INSERT INTO members.timeout_changes (guild_id, chat_id) SELECT * FROM unnest($1::text[], $2::text[])',
    [changes.map(({ guildId }) => guildId), changes.map(({ chatId }) => chatId)],
  );
}

/** Returns the changes after the ID `after`, oldest first: those of a guild, or of all guilds if it is empty. */
export function listTimeoutChanges(
  on: Queryable,
  after: number,
  limit: number,
  guildId: string,
): Promise<TimeoutChange[]> {
  const columns = 'id, guild_id AS "guildId", chat_id AS "chatId"';
  if (guildId === '')
    return on.query(`SELECT ${columns} FROM members.timeout_changes WHERE id > $1 ORDER BY id LIMIT $2`, [
      after,
      limit,
    ]);
  return on.query(
    `SELECT ${columns} FROM members.timeout_changes WHERE guild_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
    [guildId, after, limit],
  );
}

/** Returns the ID of the newest stored change; 0 if none is stored. */
export async function newestTimeoutChange(on: Queryable): Promise<number> {
  const [row] = await on.query<{ id: number | null }>('SELECT max(id) AS id FROM members.timeout_changes');
  return row?.id ?? 0;
}
