import type { EventSource } from '#kit/events/source.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';
import type { MemberName } from './roles.ts';

/** Milliseconds after which a worker takes over role changes that are not reported yet. */
const UNFINISHED_MS = 15_000;

/** Role changes of a member that a synchronisation has begun and not yet reported: the IDs of the roles. */
export interface BegunChanges {
  added: string[];
  removed: string[];
}

/** The queue of role changes that were begun and not reported. A member has at most one item, named by the chat ID. */
export const ROLE_CHANGES: QueueTable = {
  name: 'members.role_changes',
  id: 'chat_id',
  idType: 'text',
  data: 'taken.source',
};

/** Returns the role changes of a member that were begun and not reported; undefined if there are none. */
export async function findBegun(on: Queryable, { guildId, chatId }: MemberName): Promise<BegunChanges | undefined> {
  const [begun] = await on.query<BegunChanges>(
    'SELECT added, removed FROM members.role_changes WHERE guild_id = $1 AND chat_id = $2',
    [guildId, chatId],
  );
  return begun;
}

/** Returns which of the members (at most 100) have role changes that were begun and not reported. */
export async function listBegun(on: Queryable, guildId: string, chatIds: readonly string[]): Promise<Set<string>> {
  const begun = await on.query<{ chatId: string }>(
    'SELECT chat_id AS "chatId" FROM members.role_changes WHERE guild_id = $1 AND chat_id = ANY($2)',
    [guildId, chatIds],
  );
  return new Set(begun.map(({ chatId }) => chatId));
}

/**
 * Stores role changes of a member before they are made, together with the grants of `granted`. They replace changes
 * that were begun before, so they must contain those that are not reported.
 */
export async function beginChanges(
  on: Queryable,
  { guildId, chatId }: MemberName,
  { added, removed, granted, source }: BegunChanges & { granted: readonly string[]; source: EventSource | null },
  now: Date,
): Promise<void> {
  await on.query(
    `WITH granted AS (
       INSERT INTO members.grants (guild_id, chat_id, role_id, created_at)
       SELECT $1, $2, role_id, $6 FROM unnest($5::text[]) role_id ON CONFLICT DO NOTHING
     )
     INSERT INTO members.role_changes (guild_id, chat_id, added, removed, source, run_at)
     VALUES ($1, $2, $3, $4, $7, clock_timestamp() + ${UNFINISHED_MS} * interval '1 ms')
     ON CONFLICT (guild_id, chat_id) DO UPDATE SET added = excluded.added, removed = excluded.removed,
       source = excluded.source, run_at = excluded.run_at, state = 'queued', finished_at = NULL`,
    [guildId, chatId, added, removed, granted, now, source],
  );
}

/** Deletes the stored role changes of a member, in the transaction that reports them. */
export async function endChanges(on: Queryable, { guildId, chatId }: MemberName): Promise<void> {
  await on.query('DELETE FROM members.role_changes WHERE guild_id = $1 AND chat_id = $2', [guildId, chatId]);
}
