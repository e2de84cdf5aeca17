import type { Queryable } from '#kit/postgres/pool.ts';
import type { AdministeredQueue } from '#kit/queue/definition.ts';
import type { MemberName } from './roles.ts';

/** Role tasks as operators see them. */
export const ROLE_TASKS: AdministeredQueue = {
  name: 'role-tasks',
  table: { name: 'members.role_tasks', id: 'chat_id', idType: 'text' },
  ordered: false,
  leaseMs: 0,
};

/** A member whose roles have to be synchronised. */
export interface RoleTask extends MemberName {
  /** A UUID of its own for each change of the link. */
  version: string;
  /** Attempts that failed. */
  attempts: number;
}

/** Which waiting tasks to take. */
export interface TaskSelection {
  /** The guild after which to look, in the order of IDs; empty for the first. */
  after: string;
  /** Guilds that are passed over. */
  busy: readonly string[];
  /** The most tasks, of all guilds and of each. */
  limit: number;
  perGuild: number;
}

/** The most guilds that one look passes. */
const MAX_GUILDS = 1_000;

const TASK = 'guild_id AS "guildId", chat_id AS "chatId", version, attempts';
/** Not VOLATILE, so that an index serves comparisons with it. */
const NOW = '(SELECT clock_timestamp())';
const IS_FREE = `state = 'queued' AND (leased_until IS NULL OR leased_until <= ${NOW})`;
const HELD = 'guild_id = $1 AND chat_id = $2 AND version = $3 AND holder = $4';

/** Queues a member's task anew; one that is queued already is replaced. Any replica may take it at once. */
export async function insertTask(on: Queryable, { guildId, chatId, version }: RoleTask): Promise<void> {
  await on.query(
    `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at, run_at)
     VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp())
     ON CONFLICT (guild_id, chat_id) DO UPDATE SET version = excluded.version, created_at = excluded.created_at,
       run_at = excluded.run_at, state = 'queued', attempts = 0, holder = NULL, leased_until = NULL, last_error = NULL, finished_at = NULL,
       queued_at = excluded.created_at`,
    [guildId, chatId, version],
  );
}

/** Takes this very task, unless another has it or it has been replaced. */
export async function takeTask(
  on: Queryable,
  { guildId, chatId, version }: RoleTask,
  holder: string,
  leaseMs: number,
): Promise<RoleTask | undefined> {
  const [task] = await on.query<RoleTask>(
    `UPDATE members.role_tasks SET holder = $4, leased_until = clock_timestamp() + $5 * interval '1 ms'
     WHERE guild_id = $1 AND chat_id = $2 AND version = $3 AND ${IS_FREE} RETURNING ${TASK}`,
    [guildId, chatId, version, holder, leaseMs],
  );
  return task;
}

/**
 * Takes waiting tasks of which the time has come, guild by guild in the order of IDs, so that no guild waits for the
 * tasks of another.
 */
export function takeTasks(
  on: Queryable,
  { after, busy, limit, perGuild }: TaskSelection,
  holder: string,
  leaseMs: number,
): Promise<RoleTask[]> {
  return on.query(
    `WITH RECURSIVE guilds AS (
       (SELECT guild_id, 1 AS place FROM members.role_tasks
        WHERE state = 'queued' AND guild_id > $1 ORDER BY guild_id LIMIT 1)
       UNION ALL
       SELECT next.guild_id, guilds.place + 1 FROM guilds CROSS JOIN LATERAL (
         SELECT guild_id FROM members.role_tasks
         WHERE state = 'queued' AND guild_id > guilds.guild_id ORDER BY guild_id LIMIT 1
       ) next WHERE guilds.place < ${MAX_GUILDS}
     ), due AS MATERIALIZED (
       SELECT task.guild_id AS guild, task.chat_id AS chat FROM guilds CROSS JOIN LATERAL (
         SELECT guild_id, chat_id FROM members.role_tasks
         WHERE role_tasks.guild_id = guilds.guild_id AND run_at <= ${NOW} AND ${IS_FREE}
         ORDER BY run_at LIMIT $4 FOR UPDATE SKIP LOCKED
       ) task
       WHERE guilds.guild_id <> ALL($2::text[]) LIMIT $3
     )
     UPDATE members.role_tasks SET holder = $5, leased_until = clock_timestamp() + $6 * interval '1 ms'
     FROM due WHERE guild_id = due.guild AND chat_id = due.chat
     RETURNING ${TASK}`,
    [after, busy, limit, perGuild, holder, leaseMs],
  );
}

/** Renews the lease; false when the task was replaced or another has it. */
export async function keepTask(
  on: Queryable,
  { guildId, chatId, version }: RoleTask,
  holder: string,
  leaseMs: number,
): Promise<boolean> {
  const kept = await on.query(
    `UPDATE members.role_tasks SET leased_until = clock_timestamp() + $5 * interval '1 ms' WHERE ${HELD} RETURNING 1`,
    [guildId, chatId, version, holder, leaseMs],
  );
  return kept.length > 0;
}

/** It is done: whoever did it, unless the link was changed anew meanwhile. */
export async function deleteTask(on: Queryable, { guildId, chatId, version }: RoleTask): Promise<void> {
  await on.query('DELETE FROM members.role_tasks WHERE guild_id = $1 AND chat_id = $2 AND version = $3', [
    guildId,
    chatId,
    version,
  ]);
}

/** An attempt failed: the next one is made after so many milliseconds, or none when that was the last. */
export async function failTask(
  on: Queryable,
  { guildId, chatId, version }: RoleTask,
  holder: string,
  { waitMs, maxAttempts, error }: { waitMs: number; maxAttempts: number; error: string },
): Promise<'queued' | 'dead' | undefined> {
  const [failed] = await on.query<{ state: 'queued' | 'dead' }>(
    `UPDATE members.role_tasks SET attempts = attempts + 1, last_error = $6, holder = NULL, leased_until = NULL,
       run_at = clock_timestamp() + $5 * interval '1 ms',
       state = CASE WHEN attempts + 1 >= $7 THEN 'dead' ELSE 'queued' END
     WHERE ${HELD} RETURNING state`,
    [guildId, chatId, version, holder, waitMs, error, maxAttempts],
  );
  return failed?.state;
}

/** How many tasks there are of each state, counted up to `max`, and how old the oldest queued one is. */
export async function countTasks(
  on: Queryable,
  max: number,
): Promise<{ queued: number; dead: number; oldestSeconds: number }> {
  const [row] = await on.query<{ queued: number; dead: number; oldestSeconds: number }>(
    `SELECT
       (SELECT count(*)::int FROM (SELECT FROM members.role_tasks WHERE state = 'queued' LIMIT $1) task) AS queued,
       (SELECT count(*)::int FROM (SELECT FROM members.role_tasks WHERE state = 'dead' LIMIT $1) task) AS dead,
       coalesce(extract(epoch FROM clock_timestamp() - (
         SELECT queued_at FROM members.role_tasks WHERE state = 'queued' ORDER BY queued_at LIMIT 1)), 0)::float8
         AS "oldestSeconds"`,
    [max],
  );
  return row ?? { queued: 0, dead: 0, oldestSeconds: 0 };
}
