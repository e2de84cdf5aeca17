import type { EventSource } from '#kit/events/source.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';
import type { MemberName } from './roles.ts';

/** Why a member's roles are synchronised: a change of the link, of the membership in the guild, or of a rank. */
export type RoleTaskCause = 'link' | 'join' | 'rank';

/** A task to synchronise the roles of a member. */
export interface RoleTask extends MemberName {
  /** A UUID that is new for each change after which the roles have to be synchronised. */
  version: string;
  cause: RoleTaskCause;
  /** The source of the events of the role changes; null for the service itself. */
  source: EventSource | null;
}

const INSERT_TASKS = `INSERT INTO members.role_tasks (guild_id, chat_id, version, source, cause, created_at, run_at)`;
// A queued task because of a rank stays one when a task for another reason replaces it: it needs a rank as new as the
// change.
const REPLACE_TASKS = `ON CONFLICT (guild_id, chat_id) DO UPDATE SET version = excluded.version,
  source = excluded.source, created_at = excluded.created_at, run_at = excluded.run_at,
  state = 'queued', attempts = 0, holder = NULL, leased_until = NULL, last_error = NULL, finished_at = NULL,
  queued_at = excluded.created_at,
  cause = CASE WHEN role_tasks.cause = 'rank' AND role_tasks.state = 'queued' THEN 'rank' ELSE excluded.cause END`;

/**
 * The queue of role tasks (role updates of single members). A member has at most one task, whose ID is the member's
 * chat ID.
 */
export const ROLE_TASKS: QueueTable = {
  name: 'members.role_tasks',
  id: 'chat_id',
  idType: 'text',
  holder: 'holder',
  data: `taken.version, taken.source, taken.cause,
    extract(epoch FROM clock_timestamp() - taken.created_at)::float8 AS "ageSeconds"`,
};

/**
 * Queues a role task (a role update of one member), due immediately. The new task replaces the member's earlier task,
 * and ends the lease of an attempt in flight, so that this attempt does not delete the new task.
 */
export async function insertTask(on: Queryable, { guildId, chatId, ...task }: RoleTask): Promise<void> {
  await on.query(`${INSERT_TASKS} VALUES ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp()) ${REPLACE_TASKS}`, [
    guildId,
    chatId,
    task.version,
    task.source,
    task.cause,
  ]);
}

/** Queues a role task for each of the members of a guild; see `insertTask`. `chatIds` has no duplicates. */
export async function insertTasks(
  on: Queryable,
  guildId: string,
  chatIds: readonly string[],
  cause: RoleTaskCause,
): Promise<void> {
  await on.query(
    `${INSERT_TASKS} SELECT $1, chat_id, gen_random_uuid(), NULL, $3, clock_timestamp(), clock_timestamp()
     FROM unnest($2::text[]) AS chat_id ORDER BY chat_id ${REPLACE_TASKS}`,
    [guildId, chatIds, cause],
  );
}
