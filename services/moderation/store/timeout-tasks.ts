import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';

/** A task to make a player's mute and timeout equal. */
export interface TimeoutTask {
  /** Increases whenever there is a new reason for the task. */
  revision: number;
}

/** The queue of timeout tasks. A player has at most one task, whose ID is the player's game ID. */
export const TIMEOUT_TASKS: QueueTable = {
  name: 'moderation.timeout_tasks',
  id: 'game_id',
  idType: 'bigint',
  holder: 'holder',
  data: 'taken.revision',
};

/** A player's task that this process has leased. */
export interface LeasedTimeoutTask {
  guildId: string;
  gameId: number;
  /** The lease of the task, as the queue returns it. */
  lease: string;
  revision: number;
}

/**
 * Queues a task for each of these players. A task that exists is due immediately, with all of its attempts; if a process
 * is working on it, it is worked on once more.
 */
export async function queueTimeoutTasks(on: Queryable, guildId: string, gameIds: readonly number[]): Promise<void> {
  if (gameIds.length === 0) return;
  await on.query(
    `INSERT INTO moderation.timeout_tasks AS task (guild_id, game_id)
     -- In one order, so that statements about several players cannot deadlock.
     SELECT $1, game_id FROM unnest($2::bigint[]) AS players (game_id) GROUP BY game_id ORDER BY game_id
     ON CONFLICT (guild_id, game_id) DO UPDATE SET revision = task.revision + 1, attempts = 0, last_error = NULL,
       state = 'queued', finished_at = NULL,
       queued_at = CASE WHEN task.state = 'queued' THEN task.queued_at ELSE clock_timestamp() END,
       run_at = CASE WHEN task.leased_until > clock_timestamp() THEN task.run_at ELSE clock_timestamp() END`,
    [guildId, gameIds],
  );
}

/** Returns false if this process has lost the lease of the task; otherwise the lease stays until the transaction ends. */
export async function holdsTimeoutTask(
  transaction: Queryable,
  { guildId, gameId, lease }: LeasedTimeoutTask,
): Promise<boolean> {
  const rows = await transaction.query(
    'SELECT FROM moderation.timeout_tasks WHERE guild_id = $1 AND game_id = $2 AND holder = $3 FOR UPDATE',
    [guildId, gameId, lease],
  );
  return rows.length > 0;
}

/**
 * Ends the work on a task. The task is deleted; if there is a new reason for it, it stays and is due at once. Returns
 * true if the task stays.
 */
export async function endTimeoutTask(
  on: Queryable,
  { guildId, gameId, lease, revision }: LeasedTimeoutTask,
): Promise<boolean> {
  const deleted = await on.query(
    `DELETE FROM moderation.timeout_tasks
     WHERE guild_id = $1 AND game_id = $2 AND holder = $3 AND revision = $4 RETURNING 1`,
    [guildId, gameId, lease, revision],
  );
  if (deleted.length > 0) return false;
  await on.query(
    `UPDATE moderation.timeout_tasks SET holder = NULL, leased_until = NULL, attempts = 0, last_error = NULL,
       run_at = clock_timestamp()
     WHERE guild_id = $1 AND game_id = $2 AND holder = $3`,
    [guildId, gameId, lease],
  );
  return true;
}
