import type { EventSource } from '#kit/events/source.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';
import type { MemberName } from './roles.ts';

/** Milliseconds after which a worker takes over a change that is not reported yet. */
const UNFINISHED_MS = 15_000;

/** A change of a member's nickname that was begun and not yet reported. */
export interface BegunNickname {
  from: string | null;
  to: string | null;
}

/** The queue of changes of nicknames that were begun and not reported. A member has at most one item. */
export const NICKNAME_CHANGES: QueueTable = {
  name: 'members.nickname_changes',
  id: 'chat_id',
  idType: 'text',
  data: 'taken.old_nickname AS "from", taken.new_nickname AS "to", taken.source',
};

/** Returns the change of a member's nickname that was begun and not reported; undefined if there is none. */
export async function findBegunNickname(
  on: Queryable,
  { guildId, chatId }: MemberName,
): Promise<BegunNickname | undefined> {
  const [begun] = await on.query<BegunNickname>(
    `SELECT old_nickname AS "from", new_nickname AS "to" FROM members.nickname_changes
     WHERE guild_id = $1 AND chat_id = $2`,
    [guildId, chatId],
  );
  return begun;
}

/** Stores a change of a member's nickname before it is made. It replaces a change that was begun before. */
export async function beginNickname(
  on: Queryable,
  { guildId, chatId }: MemberName,
  { from, to, source }: BegunNickname & { source: EventSource | null },
): Promise<void> {
  await on.query(
    `INSERT INTO members.nickname_changes (guild_id, chat_id, old_nickname, new_nickname, source, run_at)
     VALUES ($1, $2, $3, $4, $5, clock_timestamp() + ${UNFINISHED_MS} * interval '1 ms')
     ON CONFLICT (guild_id, chat_id) DO UPDATE SET old_nickname = excluded.old_nickname,
       new_nickname = excluded.new_nickname, source = excluded.source, run_at = excluded.run_at, state = 'queued',
       finished_at = NULL`,
    [guildId, chatId, from, to, source],
  );
}

/**
 * Deletes a stored change of a member's nickname, in the transaction that reports it. Returns false if it was reported
 * or replaced meanwhile.
 */
export async function endNickname(
  on: Queryable,
  { guildId, chatId }: MemberName,
  { from, to }: BegunNickname,
): Promise<boolean> {
  const ended = await on.query(
    `DELETE FROM members.nickname_changes WHERE guild_id = $1 AND chat_id = $2
       AND old_nickname IS NOT DISTINCT FROM $3 AND new_nickname IS NOT DISTINCT FROM $4 RETURNING 1`,
    [guildId, chatId, from, to],
  );
  return ended.length > 0;
}
