import type { EventSource } from '#kit/events/source.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';
import type { MemberName } from './roles.ts';

/** A task to synchronise the roles of a member whose link has changed. */
export interface RoleTask extends MemberName {
  /** A UUID that is new for each change of the member's link. */
  version: string;
  /** The source of the events of the role changes; null for the service itself. */
  source: EventSource | null;
}

/**
 * The queue of role tasks (role updates after a link change). A member has at most one task, whose ID is the member's
 * chat ID.
 */
export const ROLE_TASKS: QueueTable = {
  name: 'members.role_tasks',
  id: 'chat_id',
  idType: 'text',
  holder: 'holder',
  data: 'taken.version, taken.source',
};

/**
 * Queues a role task (a role update after a link change) for a member, due immediately. The new task replaces the
 * member's earlier task, and ends the lease of an attempt in flight, so that this attempt does not delete the new task.
 */
export async function insertTask(on: Queryable, { guildId, chatId, version, source }: RoleTask): Promise<void> {
  await on.query(
    `INSERT INTO members.role_tasks (guild_id, chat_id, version, source, created_at, run_at)
     VALUES ($1, $2, $3, $4, clock_timestamp(), clock_timestamp())
     ON CONFLICT (guild_id, chat_id) DO UPDATE SET version = excluded.version, source = excluded.source,
       created_at = excluded.created_at, run_at = excluded.run_at, state = 'queued', attempts = 0, holder = NULL, leased_until = NULL, last_error = NULL,
       finished_at = NULL, queued_at = excluded.created_at`,
    [guildId, chatId, version, source],
  );
}
