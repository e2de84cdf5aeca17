import type { EventSource } from '#kit/events/source.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { ClaimedItem, QueueTable } from '#kit/queue/definition.ts';

/**
 * An error of a synchronisation job; `chat_id` and `role_id` are null if the error does not concern a single member or
 * role.
 */
export interface JobError {
  chat_id: string | null;
  role_id: string | null;
  code: string;
  /** The error as a sentence for people. */
  message: string;
}

/** The position of a synchronisation job in the list of members, and the counts of members up to there. */
export interface JobProgress {
  /** The chat ID of the last member that the job handled; `0` at the start. */
  position: string;
  done: number;
  changed: number;
  failed: number;
  /** The first errors of the job; later errors are only counted. */
  errors: JobError[];
}

export interface JobName {
  guildId: string;
  /** The UUID of the job. */
  id: string;
}

export type JobState = 'queued' | 'running' | 'paused' | 'done' | 'failed';

/** A job that synchronises the roles of all members of a guild that depend on one group of the game platform. */
export interface SyncJob extends JobName, JobProgress {
  gameGroupId: number;
  state: JobState;
  total: number;
  /** The error because of which the job is paused or has failed. */
  cause: JobError | null;
  /** The number of failed attempts since the job last made progress. */
  attempts: number;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** The source of the events of the job; null for the service itself. */
  source: EventSource | null;
}

/** The queue of synchronisation jobs: an open item is an unfinished job, and a dead letter is a failed job. */
export const SYNC_JOBS: QueueTable = {
  name: 'members.sync_jobs',
  id: 'id',
  idType: 'uuid',
  columns: { state: 'queue_state', runAt: 'due_at', attempts: 'queue_attempts' },
  holder: 'holder',
  oneLeasedPerGuild: 'sync_jobs_running',
  conditions: { open: 'finished_at IS NULL', dead: "queue_state = 'dead' AND state = 'failed'" },
  waitingSince: 'coalesce(progressed_at, started_at, created_at)',
  data: `taken.game_group_id AS "gameGroupId", taken.position, taken.done, taken.changed, taken.failed, taken.errors,
    taken.attempts AS "failedAttempts", taken.source`,
};

/** The data of a job's queue item. */
export type JobData = JobProgress & Pick<SyncJob, 'gameGroupId' | 'source'> & { failedAttempts: number };
export type JobItem = ClaimedItem<JobData>;

/** The SQL of a job's state: one that waits for its next time slice has no holder, and is queued. */
export const STATE = `CASE WHEN state = 'running' AND holder IS NULL THEN 'queued' ELSE state END`;

const JOB = `guild_id AS "guildId", id, game_group_id AS "gameGroupId", ${STATE} AS state, total, done, changed, failed, errors, cause,
  position, attempts, source, created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt"`;

/**
 * Locks the creation of a guild's jobs: other transactions that call this function for the guild wait until this
 * transaction ends.
 */
export async function lockJobs(transaction: Queryable, guildId: string): Promise<void> {
  await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended('members.sync_jobs ' || $1, 0))", [guildId]);
}

/** Returns the guild's unfinished job for a group; undefined if there is none. */
export async function findUnfinished(
  on: Queryable,
  guildId: string,
  gameGroupId: number,
): Promise<Pick<SyncJob, 'id' | 'total'> | undefined> {
  const [job] = await on.query<Pick<SyncJob, 'id' | 'total'>>(
    'SELECT id, total FROM members.sync_jobs WHERE guild_id = $1 AND game_group_id = $2 AND finished_at IS NULL',
    [guildId, gameGroupId],
  );
  return job;
}

export async function countUnfinished(on: Queryable, guildId: string): Promise<number> {
  const [row] = await on.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM members.sync_jobs WHERE guild_id = $1 AND finished_at IS NULL',
    [guildId],
  );
  return row?.count ?? 0;
}

/** Queues a new job, due immediately. A failed earlier job of the same group stops being a dead letter. */
export async function insertJob(
  on: Queryable,
  { guildId, id, gameGroupId, total, source }: Pick<SyncJob, 'guildId' | 'id' | 'gameGroupId' | 'total' | 'source'>,
): Promise<void> {
  await on.query(
    `UPDATE members.sync_jobs SET queue_state = 'skipped'
     WHERE guild_id = $1 AND game_group_id = $2 AND queue_state = 'dead'`,
    [guildId, gameGroupId],
  );
  await on.query(
    `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, source, due_at, created_at)
     VALUES ($1, $2, $3, 'queued', $4, $5, clock_timestamp(), clock_timestamp())`,
    [guildId, id, gameGroupId, total, source],
  );
}

export async function findJob(on: Queryable, { guildId, id }: JobName): Promise<SyncJob | undefined> {
  const [job] = await on.query<SyncJob>(`SELECT ${JOB} FROM members.sync_jobs WHERE guild_id = $1 AND id = $2`, [
    guildId,
    id,
  ]);
  return job;
}

/** An SQL condition for the job with guild $1 and ID $2 while $3 holds its lease; a finished job has no holder. */
const HELD = 'guild_id = $1 AND id = $2 AND holder = $3';
const lease = ({ guildId, id, lease: holder }: JobItem) => [guildId, id, holder];

/**
 * Marks a job as running. Returns the seconds for which it has made no progress; undefined if the job's lease was lost. The
 * first attempt since the job was released begins that time anew: the job has waited for its turn.
 */
export async function startJob(on: Queryable, item: JobItem): Promise<number | undefined> {
  const [started] = await on.query<{ stalledSeconds: number }>(
    `UPDATE members.sync_jobs SET state = 'running', started_at = coalesce(started_at, now),
       progressed_at = CASE WHEN queue_attempts = 1 AND progressed_at IS NOT NULL THEN now ELSE progressed_at END
     FROM (SELECT clock_timestamp() AS now) AS clock WHERE ${HELD}
     RETURNING extract(epoch FROM now - coalesce(progressed_at, started_at))::float8 AS "stalledSeconds"`,
    lease(item),
  );
  return started?.stalledSeconds;
}

/**
 * Stores the progress of a job. Returns false if the job's lease was lost. If `errors` is undefined, the stored errors
 * stay. The queue then counts the attempt in flight as the first one, so that the backoff starts again.
 */
export async function saveProgress(
  on: Queryable,
  item: JobItem,
  { position, done, changed, failed, errors }: Omit<JobProgress, 'errors'> & { errors: JobError[] | undefined },
): Promise<boolean> {
  const saved = await on.query(
    `UPDATE members.sync_jobs SET position = $4, done = $5, changed = $6, failed = $7, errors = coalesce($8, errors),
       total = greatest(total, $5), attempts = 0, queue_attempts = 1, cause = NULL,
       progressed_at = CASE WHEN position = $4 THEN progressed_at ELSE now END
     FROM (SELECT clock_timestamp() AS now) AS clock WHERE ${HELD} RETURNING 1`,
    [...lease(item), position, done, changed, failed, errors && JSON.stringify(errors)],
  );
  if (saved.length > 0) item.attempts = 1;
  return saved.length > 0;
}

/** Records a failed attempt at a job: the job is paused and will be retried, or has failed permanently. */
export async function endAttempt(
  transaction: Queryable,
  { guildId, id }: JobName,
  state: 'paused' | 'failed',
  cause: JobError,
): Promise<void> {
  await transaction.query(
    `UPDATE members.sync_jobs SET state = $3, cause = $4, attempts = attempts + 1,
       finished_at = CASE WHEN $3 = 'failed' THEN now END
     FROM (SELECT clock_timestamp() AS now) AS clock WHERE guild_id = $1 AND id = $2`,
    [guildId, id, state, cause],
  );
}

/** Marks a job as done. All members count as handled, including linked users who are not in the guild. */
export async function completeJob(transaction: Queryable, { guildId, id }: JobName): Promise<void> {
  await transaction.query(
    `UPDATE members.sync_jobs SET state = 'done', cause = NULL, done = total WHERE guild_id = $1 AND id = $2`,
    [guildId, id],
  );
}

/** The number and the ages of the unfinished synchronisation jobs in one state, over all guilds. */
export interface UnfinishedJobs {
  state: JobState;
  count: number;
  /** Seconds since the oldest unfinished job in this state was created. */
  oldestSeconds: number;
  /** The longest time in seconds for which a started job has made no progress, without those that wait for their turn; 0 if there is none. */
  stalledSeconds: number;
}

/** Counts the unfinished synchronisation jobs of all guilds by state. */
export function unfinishedJobs(on: Queryable): Promise<UnfinishedJobs[]> {
  return on.query(
    `SELECT ${STATE} AS state, count(*)::int AS count,
       extract(epoch FROM clock_timestamp() - min(created_at))::float8 AS "oldestSeconds",
       coalesce(extract(epoch FROM clock_timestamp() - min(coalesce(progressed_at, started_at))
         FILTER (WHERE ${STATE} <> 'queued')), 0)::float8 AS "stalledSeconds"
     FROM members.sync_jobs WHERE finished_at IS NULL GROUP BY 1`,
  );
}
