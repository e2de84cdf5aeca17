import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';

/** A task to make what a guild has decided about a player equal with a platform. */
export interface MirrorTask {
  /** Increases whenever there is a new reason for the task. */
  revision: number;
}

/** A player's task that this process has leased. */
export interface LeasedTask {
  guildId: string;
  gameId: number;
  /** The lease of the task, as the queue returns it. */
  lease: string;
  revision: number;
}

export interface MirrorTasksOptions {
  /** The table of the tasks, with its schema. */
  table: string;
  /** The table of the guilds that mirror; no task is queued for another guild. */
  guilds: string;
}

/**
 * The tasks of a mirror. A player has at most one task, whose ID is the player's game ID. A transaction locks the player
 * first, then the task, then the guild's counters and the rows of the mirror, so that no two transactions wait for each
 * other.
 */
export class MirrorTasks {
  /** The table, as the queue needs it. */
  readonly table: QueueTable;
  readonly #guilds: string;

  constructor({ table, guilds }: MirrorTasksOptions) {
    this.table = { name: table, id: 'game_id', idType: 'bigint', holder: 'holder', data: 'taken.revision' };
    this.#guilds = guilds;
  }

  /**
   * Queues a task for each of these players, if the guild mirrors. A task that exists is due immediately, with all of its
   * attempts; if a process is working on it, it is worked on once more.
   */
  async queue(on: Queryable, guildId: string, gameIds: readonly number[]): Promise<void> {
    if (gameIds.length === 0) return;
    await on.query(
      `INSERT INTO ${this.table.name} AS task (guild_id, game_id, run_at, queued_at)
       SELECT $1, game_id, clock_timestamp(), clock_timestamp() FROM unnest($2::bigint[]) AS players (game_id)
       WHERE EXISTS (SELECT FROM ${this.#guilds} WHERE guild_id = $1)
       -- In one order, so that statements about several players cannot deadlock.
       GROUP BY game_id ORDER BY game_id
       ON CONFLICT (guild_id, game_id) DO UPDATE SET revision = task.revision + 1, attempts = 0, last_error = NULL,
         state = 'queued', finished_at = NULL,
         queued_at = CASE WHEN task.state = 'queued' THEN task.queued_at ELSE excluded.queued_at END,
         run_at = CASE WHEN task.leased_until > excluded.run_at THEN task.run_at ELSE excluded.run_at END`,
      [guildId, gameIds],
    );
  }

  /**
   * Locks the task until the transaction ends. Returns true if the task got a new reason since it was leased: this
   * attempt may not have read that change. Throws if this process has lost the lease.
   */
  async requireLease(transaction: Queryable, { guildId, gameId, lease, revision }: LeasedTask): Promise<boolean> {
    const [task] = await transaction.query<MirrorTask>(
      `SELECT revision FROM ${this.table.name} WHERE guild_id = $1 AND game_id = $2 AND holder = $3 FOR UPDATE`,
      [guildId, gameId, lease],
    );
    if (!task) throw new Error(`the lease of a task of ${this.table.name} was lost`);
    return task.revision !== revision;
  }

  /**
   * Ends the work on a task. The task is deleted, or stays and is due at once if there is a new reason for it, or after
   * `delayMs` if that is given. Returns true if the task stays.
   */
  async end(on: Queryable, { guildId, gameId, lease, revision }: LeasedTask, delayMs?: number): Promise<boolean> {
    const values = [guildId, gameId, lease, revision, delayMs ?? null];
    const deleted = await on.query(
      `DELETE FROM ${this.table.name}
       WHERE guild_id = $1 AND game_id = $2 AND holder = $3 AND revision = $4 AND $5::float8 IS NULL RETURNING 1`,
      values,
    );
    if (deleted.length > 0) return false;
    await on.query(
      `UPDATE ${this.table.name} SET holder = NULL, leased_until = NULL, attempts = 0, last_error = NULL,
         run_at = CASE WHEN revision = $4 THEN delayed ELSE now END
       FROM (SELECT clock_timestamp() AS now,
         clock_timestamp() + COALESCE($5::float8, 0) * interval '1 millisecond' AS delayed) AS clock
       WHERE guild_id = $1 AND game_id = $2 AND holder = $3`,
      values,
    );
    return true;
  }
}

/** Players whose bans and restrictions on the game platform are to be made equal. */
export const RESTRICTION_TASKS = new MirrorTasks({
  table: 'moderation.restriction_tasks',
  guilds: 'moderation.mirrored_universes',
});

/** Players whose mutes and timeouts on the chat platform are to be made equal. */
export const TIMEOUT_TASKS = new MirrorTasks({
  table: 'moderation.timeout_tasks',
  guilds: 'moderation.timeout_guilds',
});
