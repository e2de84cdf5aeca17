import { isUniqueViolation, type Queryable } from '#kit/postgres/pool.ts';
import type { JobError, JobName, JobState } from './sync-jobs.ts';

/** A job as operators see it. */
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

/** A place in a guild's list of jobs, the newest first. */
export interface JobPosition {
  /** With microseconds, as the database writes it. */
  createdAt: string;
  id: string;
}

const LISTED = `id, game_group_id AS "gameGroupId", state, total, done, changed, failed, attempts, cause,
  created_at AS "createdAt", started_at AS "startedAt", progressed_at AS "progressedAt", finished_at AS "finishedAt"`;

/** Up to `limit` jobs of a guild past a position, the newest first. */
export function listJobs(
  on: Queryable,
  guildId: string,
  { after, limit, unfinished }: { after: JobPosition | undefined; limit: number; unfinished: boolean },
): Promise<(ListedJob & { position: string })[]> {
  return on.query(
    `SELECT ${LISTED}, created_at::text AS position FROM members.sync_jobs
     WHERE guild_id = $1 AND (created_at, id) < ($2::timestamptz, $3::uuid)
       AND (finished_at IS NULL OR NOT $4)
     ORDER BY created_at DESC, id DESC LIMIT $5`,
    [guildId, after?.createdAt ?? 'infinity', after?.id ?? LAST_ID, unfinished, limit],
  );
}

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Why a job cannot be changed as wanted. */
export type JobRefusal = { state: JobState } | 'no such job' | 'another is unfinished';

/** A paused, failed or cancelled job is queued again, at its stored position and with all of its attempts. */
export async function requeueJob(on: Queryable, { guildId, id }: JobName): Promise<ListedJob | JobRefusal> {
  try {
    const [job] = await on.query<ListedJob>(
      `UPDATE members.sync_jobs SET state = 'queued', attempts = 0, cause = NULL, finished_at = NULL,
         due_at = clock_timestamp(), progressed_at = clock_timestamp()
       WHERE guild_id = $1 AND id = $2 AND state IN ('paused', 'failed') RETURNING ${LISTED}`,
      [guildId, id],
    );
    return job ?? (await stateOf(on, { guildId, id }));
  } catch (error) {
    if (isUniqueViolation(error, 'sync_jobs_unfinished')) return 'another is unfinished';
    throw error;
  }
}

/** Ends a job that is not finished: whoever runs it notices with the next member. */
export async function cancelJob(
  on: Queryable,
  { guildId, id }: JobName,
  cause: JobError,
): Promise<ListedJob | JobRefusal> {
  const [job] = await on.query<ListedJob>(
    `UPDATE members.sync_jobs SET state = 'failed', cause = $3, holder = NULL, leased_until = NULL,
       finished_at = clock_timestamp()
     WHERE guild_id = $1 AND id = $2 AND finished_at IS NULL RETURNING ${LISTED}`,
    [guildId, id, cause],
  );
  return job ?? (await stateOf(on, { guildId, id }));
}

async function stateOf(on: Queryable, { guildId, id }: JobName): Promise<JobRefusal> {
  const [job] = await on.query<{ state: JobState }>(
    'SELECT state FROM members.sync_jobs WHERE guild_id = $1 AND id = $2',
    [guildId, id],
  );
  return job ?? 'no such job';
}
