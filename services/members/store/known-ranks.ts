import type { Queryable } from '#kit/postgres/pool.ts';

/** The ranks of a linked member. */
export interface Ranks {
  chatId: string;
  gameId: number;
  /**
   * By group ID, the ranks in ascending order; empty if the user is not in the group. Without any group, the ranks have
   * not been read since the account was linked.
   */
  ranks: Readonly<Record<string, readonly number[]>>;
}

/** Returns, by chat ID, the ranks of members when they were last read. */
export async function findKnownRanks(
  on: Queryable,
  guildId: string,
  chatIds: readonly string[],
): Promise<Map<string, Ranks>> {
  const rows = await on.query<Ranks>(
    `SELECT chat_id AS "chatId", game_id AS "gameId", ranks FROM members.known_ranks
     WHERE guild_id = $1 AND chat_id = ANY ($2)`,
    [guildId, chatIds],
  );
  return new Map(rows.map((row) => [row.chatId, row]));
}

/** Stores the ranks of members that were just read. A row that did not change is written once a day. */
export async function storeKnownRanks(on: Queryable, guildId: string, ranks: readonly Ranks[]): Promise<void> {
  if (ranks.length === 0) return;
  const rows = ranks.map(({ chatId, gameId, ranks }) => ({ chat_id: chatId, game_id: gameId, ranks }));
  await on.query(
    `INSERT INTO members.known_ranks AS known (guild_id, chat_id, game_id, ranks)
     SELECT $1, chat_id, game_id, ranks
     FROM jsonb_to_recordset($2) AS read (chat_id text, game_id bigint, ranks jsonb) ORDER BY chat_id
     ON CONFLICT (guild_id, chat_id) DO UPDATE
       SET game_id = excluded.game_id, ranks = excluded.ranks, seen_at = excluded.seen_at
       WHERE known.game_id <> excluded.game_id OR known.ranks <> excluded.ranks
         OR excluded.seen_at - known.seen_at > interval '1 day'`,
    [guildId, JSON.stringify(rows)],
  );
}

/**
 * Notes that the ranks of a member have not been read since the link. The roles of the link may have been decided with
 * ranks that changed before the next reading, so the first reading counts as a change.
 */
export async function expectFirstRanks(
  on: Queryable,
  { guildId, chatId, gameId }: { guildId: string; chatId: string; gameId: number },
): Promise<void> {
  await on.query(
    `INSERT INTO members.known_ranks (guild_id, chat_id, game_id, ranks) VALUES ($1, $2, $3, '{}')
     ON CONFLICT (guild_id, chat_id) DO UPDATE
       SET game_id = excluded.game_id, ranks = excluded.ranks, seen_at = excluded.seen_at`,
    [guildId, chatId, gameId],
  );
}

/** Deletes the ranks of a member whose link was removed. */
export async function deleteKnownRanks(on: Queryable, guildId: string, chatId: string): Promise<void> {
  await on.query('DELETE FROM members.known_ranks WHERE guild_id = $1 AND chat_id = $2', [guildId, chatId]);
}
