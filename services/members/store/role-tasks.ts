import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';
import type { MemberName } from './roles.ts';

/** A member whose roles have to be synchronised. */
export interface RoleTask extends MemberName {
  /** A UUID for each change of the link. */
  version: string;
}

/** Role tasks as a queue: the item of a member, whose ID is the member's chat ID. */
export const ROLE_TASKS: QueueTable = {
  name: 'members.role_tasks',
  id: 'chat_id',
  idType: 'text',
  holder: 'holder',
  data: 'taken.version',
};

/**
 * Queues a task for a member, due immediately. It replaces the member's earlier task; an attempt in flight loses its
 * lease, so that it does not delete the new task.
 */
export async function insertTask(on: Queryable, { guildId, chatId, version }: RoleTask): Promise<void> {
  await on.query(
    `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at, run_at)
     VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp())
     ON CONFLICT (guild_id, chat_id) DO UPDATE SET version = excluded.version, created_at = excluded.created_at,
       run_at = excluded.run_at, state = 'queued', attempts = 0, holder = NULL, leased_until = NULL, last_error = NULL,
       finished_at = NULL, queued_at = excluded.created_at`,
    [guildId, chatId, version],
  );
}
