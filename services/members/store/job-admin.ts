import { isUniqueViolation, type Queryable } from '#kit/postgres/pool.ts';
import { type JobError, type JobName, type JobState, STATE } from './sync-jobs.ts';

/** A synchronisation job as operators see it. */
export interface ListedJob {
  id: string;
  gameGroupId: number;
  state: JobState;
  total: number;
  done: number;
  changed: number;
  failed: number;
  attempts: number;
  cause: JobError | null;
  createdAt: Date;
  startedAt: Date | null;
  progressedAt: Date | null;
  finishedAt: Date | null;
}

/** A position in a guild's list of synchronisation jobs, which is ordered by creation time, the newest first. */
export interface JobPosition {
  /** The creation time of the job in Unix microseconds, as a decimal string. */
  createdAt: string;
  id: string;
}

const LISTED = `id, game_group_id AS "gameGroupId", ${STATE} AS state, total, done, changed, failed, attempts, cause,
  created_at AS "createdAt", started_at AS "startedAt", progressed_at AS "progressedAt", finished_at AS "finishedAt"`;

/** Returns up to `limit` synchronisation jobs of a guild after a position, the newest first. */
export function listJobs(
  on: Queryable,
  guildId: string,
  { after, limit, unfinished }: { after: JobPosition | undefined; limit: number; unfinished: boolean },
): Promise<(ListedJob & { position: string })[]> {
  return on.query(
    `SELECT ${LISTED}, (extract(epoch FROM created_at) * 1000000)::bigint::text AS position FROM members.sync_jobs
     WHERE guild_id = $1
       AND (created_at, id) < (coalesce('epoch'::timestamptz + $2::bigint * interval '1 microsecond', 'infinity'), $3::uuid)
       AND (finished_at IS NULL OR NOT $4)
     ORDER BY created_at DESC, id DESC LIMIT $5`,
    [guildId, after?.createdAt ?? null, after?.id ?? LAST_ID, unfinished, limit],
  );
}

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The reason why a job cannot be retried or cancelled; `state` is the state that prevents it. */
export type JobRejection = { state: JobState } | 'no such job' | 'another is unfinished';

/** The SQL assignments that queue a job again: the job continues at its stored position with all of its attempts. */
const REQUEUED = `state = 'queued', attempts = 0, cause = NULL, finished_at = NULL, progressed_at = clock_timestamp()`;

/** Queues a paused, failed or cancelled job again. Returns the job, or the reason why it cannot be queued. */
export async function requeueJob(on: Queryable, { guildId, id }: JobName): Promise<ListedJob | JobRejection> {
  try {
    const [job] = await on.query<ListedJob>(
      `UPDATE members.sync_jobs SET ${REQUEUED}, queue_state = 'queued', queue_attempts = 0, due_at = clock_timestamp(),
         queued_at = clock_timestamp()
       WHERE guild_id = $1 AND id = $2 AND state IN ('paused', 'failed') RETURNING ${LISTED}`,
      [guildId, id],
    );
    return job ?? (await stateOf(on, { guildId, id }));
  } catch (error) {
    if (isUniqueViolation(error, 'sync_jobs_unfinished')) return 'another is unfinished';
    throw error;
  }
}

/**
 * Updates a job after an operator has retried the job's item in the queue. Returns false if another job of the same
 * group is unfinished; the caller must then roll back the transaction.
 */
export async function requeuedJob(transaction: Queryable, { guildId, id }: JobName): Promise<boolean> {
  try {
    await transaction.query(`UPDATE members.sync_jobs SET ${REQUEUED} WHERE guild_id = $1 AND id = $2`, [guildId, id]);
    return true;
  } catch (error) {
    if (isUniqueViolation(error, 'sync_jobs_unfinished')) return false;
    throw error;
  }
}

/**
 * Marks an unfinished synchronisation job as failed, after an operator has discarded the job's item in the queue.
 * Returns false if the job had ended before.
 */
export async function skippedJob(transaction: Queryable, { guildId, id }: JobName, cause: JobError): Promise<boolean> {
  const skipped = await transaction.query(
    `UPDATE members.sync_jobs SET state = 'failed', cause = $3
     WHERE guild_id = $1 AND id = $2 AND state IN ('queued', 'running', 'paused') RETURNING 1`,
    [guildId, id, cause],
  );
  return skipped.length > 0;
}

/**
 * Cancels an unfinished synchronisation job. The process that runs the job stops before it handles the next member of
 * the guild.
 */
export async function cancelJob(
  on: Queryable,
  { guildId, id }: JobName,
  cause: JobError,
): Promise<ListedJob | JobRejection> {
  const [job] = await on.query<ListedJob>(
    `UPDATE members.sync_jobs SET state = 'failed', queue_state = 'skipped', cause = $3, holder = NULL,
       leased_until = NULL, finished_at = clock_timestamp()
     WHERE guild_id = $1 AND id = $2 AND finished_at IS NULL RETURNING ${LISTED}`,
    [guildId, id, cause],
  );
  return job ?? (await stateOf(on, { guildId, id }));
}

async function stateOf(on: Queryable, { guildId, id }: JobName): Promise<JobRejection> {
  const [job] = await on.query<{ state: JobState }>(
    'SELECT state FROM members.sync_jobs WHERE guild_id = $1 AND id = $2',
    [guildId, id],
  );
  return job ?? 'no such job';
}
