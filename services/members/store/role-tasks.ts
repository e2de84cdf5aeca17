import type { Queryable } from '#kit/postgres.ts';
import type { MemberName } from './roles.ts';

/** A member whose roles are to be looked at. */
export interface RoleTask extends MemberName {
  /** A UUID of its own for each change of the link. */
  version: string;
  /** How often it was tried in vain. */
  failures: number;
}

/** Queues a member's task anew; one that is queued already is replaced. */
export async function insertTask(
  on: Queryable,
  { guildId, chatId, version }: RoleTask,
  now: Date,
  dueAt: Date,
): Promise<void> {
  await on.query(
    `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at, due_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (guild_id, chat_id) DO UPDATE SET version = excluded.version, created_at = excluded.created_at,
       due_at = excluded.due_at, failures = 0`,
    [guildId, chatId, version, now, dueAt],
  );
}

/** Takes tasks of all guilds that are due; other replicas pass them over until `until`. */
export function takeDueTasks(on: Queryable, now: Date, until: Date, limit: number): Promise<RoleTask[]> {
  return on.query(
    `WITH due AS MATERIALIZED (
       SELECT guild_id AS guild, chat_id AS chat FROM members.role_tasks
       WHERE due_at <= $1 ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
     )
     UPDATE members.role_tasks SET due_at = $2 FROM due WHERE guild_id = due.guild AND chat_id = due.chat
     RETURNING guild_id AS "guildId", chat_id AS "chatId", version, failures`,
    [now, until, limit],
  );
}

/** Who does a task holds it for longer, unless the link was changed anew meanwhile. */
export async function keepTask(on: Queryable, { guildId, chatId, version }: RoleTask, dueAt: Date): Promise<void> {
  await on.query('UPDATE members.role_tasks SET due_at = $4 WHERE guild_id = $1 AND chat_id = $2 AND version = $3', [
    guildId,
    chatId,
    version,
    dueAt,
  ]);
}

export async function deleteTask(on: Queryable, { guildId, chatId, version }: RoleTask): Promise<void> {
  await on.query('DELETE FROM members.role_tasks WHERE guild_id = $1 AND chat_id = $2 AND version = $3', [
    guildId,
    chatId,
    version,
  ]);
}

/** A task was tried in vain. */
export async function postponeTask(on: Queryable, { guildId, chatId, version }: RoleTask, dueAt: Date): Promise<void> {
  await on.query(
    `UPDATE members.role_tasks SET due_at = $4, failures = failures + 1
     WHERE guild_id = $1 AND chat_id = $2 AND version = $3`,
    [guildId, chatId, version, dueAt],
  );
}
