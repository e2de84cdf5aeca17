import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';

/** A task to make a player's bans and restrictions equal. */
export interface RestrictionTask {
  /** Increases whenever there is a new reason for the task. */
  revision: number;
}

/** The queue of restriction tasks. A player has at most one task, whose ID is the player's game ID. */
export const RESTRICTION_TASKS: QueueTable = {
  name: 'moderation.restriction_tasks',
  id: 'game_id',
  idType: 'bigint',
  holder: 'holder',
  data: 'taken.revision',
};

/** A player's task that this process has leased. */
export interface LeasedTask {
  guildId: string;
  gameId: number;
  /** The lease of the task, as the queue returns it. */
  lease: string;
  revision: number;
}

/**
 * Queues a task for each of these players, if the guild's bans are mirrored. A task that exists is due immediately, with
 * all of its attempts; if a process is working on it, it is worked on once more.
 */
export async function queueTasks(on: Queryable, guildId: string, gameIds: readonly number[]): Promise<void> {
  if (gameIds.length === 0) return;
  await on.query(
    `INSERT INTO moderation.restriction_tasks AS task (guild_id, game_id, run_at, queued_at)
     SELECT $1, game_id, clock_timestamp(), clock_timestamp() FROM unnest($2::bigint[]) AS players (game_id)
     WHERE EXISTS (SELECT FROM moderation.mirrored_universes WHERE guild_id = $1)
     -- In one order, so that statements about several players cannot deadlock.
     GROUP BY game_id ORDER BY game_id
     ON CONFLICT (guild_id, game_id) DO UPDATE SET revision = task.revision + 1, attempts = 0, last_error = NULL,
       state = 'queued', finished_at = NULL,
       queued_at = CASE WHEN task.state = 'queued' THEN task.queued_at ELSE clock_timestamp() END,
       run_at = CASE WHEN task.leased_until > clock_timestamp() THEN task.run_at ELSE clock_timestamp() END`,
    [guildId, gameIds],
  );
}

/** Throws if this process has lost the lease of the task; otherwise the lease stays until the transaction ends. */
export async function requireLease(transaction: Queryable, { guildId, gameId, lease }: LeasedTask): Promise<void> {
  const rows = await transaction.query(
    `SELECT FROM moderation.restriction_tasks WHERE guild_id = $1 AND game_id = $2 AND holder = $3 FOR UPDATE`,
    [guildId, gameId, lease],
  );
  if (rows.length === 0) throw new Error('the lease of the restriction task was lost');
}

/**
 * Ends the work on a task. The task is deleted, or stays and is due at once if there is a new reason for it, or after
 * `delayMs` if that is given. Returns true if the task stays.
 */
export async function endTask(
  on: Queryable,
  { guildId, gameId, lease, revision }: LeasedTask,
  delayMs: number | undefined,
): Promise<boolean> {
  const deleted = await on.query(
    `DELETE FROM moderation.restriction_tasks
     WHERE guild_id = $1 AND game_id = $2 AND holder = $3 AND revision = $4 AND $5::float8 IS NULL RETURNING 1`,
    [guildId, gameId, lease, revision, delayMs ?? null],
  );
  if (deleted.length > 0) return false;
  await on.query(
    `UPDATE moderation.restriction_tasks SET holder = NULL, leased_until = NULL, attempts = 0, last_error = NULL,
       run_at = clock_timestamp() + CASE WHEN revision = $4 THEN COALESCE($5::float8, 0) ELSE 0 END * interval '1 millisecond'
     WHERE guild_id = $1 AND game_id = $2 AND holder = $3`,
    [guildId, gameId, lease, revision, delayMs ?? null],
  );
  return true;
}
