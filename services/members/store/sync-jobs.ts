import { isUniqueViolation, type Queryable } from '#kit/postgres/pool.ts';

/** What a job could not do; `chat_id` and `role_id` are null where it is not about one. */
export interface JobError {
  chat_id: string | null;
  role_id: string | null;
  code: string;
  /** A sentence for a person. */
  message: string;
}

/** How far a job has come. */
export interface JobProgress {
  /** The chat ID of the last member dealt with; `0` at first. */
  position: string;
  done: number;
  changed: number;
  failed: number;
  /** The first of them. */
  errors: JobError[];
}

export interface JobName {
  guildId: string;
  /** A UUID. */
  id: string;
}

export type JobState = 'queued' | 'running' | 'paused' | 'done' | 'failed';

/** A synchronisation of all members for the roles of a group. */
export interface SyncJob extends JobName, JobProgress {
  gameGroupId: number;
  state: JobState;
  total: number;
  /** Why it is paused or has failed. */
  cause: JobError | null;
  /** How often it was tried in vain from its position on. */
  attempts: number;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
}

const JOB = `guild_id AS "guildId", id, game_group_id AS "gameGroupId", state, total, done, changed, failed, errors, cause,
  position, attempts, created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt"`;

/** Makes those who add jobs of a guild come one after the other, until their transaction ends. */
export async function lockJobs(transaction: Queryable, guildId: string): Promise<void> {
  await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended('members.sync_jobs ' || $1, 0))", [guildId]);
}

/** The guild's job for a group that is not finished. */
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

/** Any replica may take it at once. */
export async function insertJob(
  on: Queryable,
  { guildId, id, gameGroupId, total }: Pick<SyncJob, 'guildId' | 'id' | 'gameGroupId' | 'total'>,
): Promise<void> {
  await on.query(
    `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, due_at, created_at)
     VALUES ($1, $2, $3, 'queued', $4, clock_timestamp(), clock_timestamp())`,
    [guildId, id, gameGroupId, total],
  );
}

export async function findJob(on: Queryable, { guildId, id }: JobName): Promise<SyncJob | undefined> {
  const [job] = await on.query<SyncJob>(`SELECT ${JOB} FROM members.sync_jobs WHERE guild_id = $1 AND id = $2`, [
    guildId,
    id,
  ]);
  return job;
}

/** Not VOLATILE, so that an index serves comparisons with it. */
const NOW = '(SELECT clock_timestamp())';
/** Another replica may run a job of the same guild first: then the next look sees it. */
const MAX_TRIES = 3;

/**
 * Takes a job of which the time has come and of whose guild no other runs; other replicas pass it over for so many
 * milliseconds unless the lease is renewed. Of two that take jobs of one guild at the same time, the index
 * `sync_jobs_running` rejects the second.
 */
export async function takeJob(on: Queryable, holder: string, leaseMs: number): Promise<SyncJob | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return await takeOne(on, holder, leaseMs);
    } catch (error) {
      if (!isUniqueViolation(error, 'sync_jobs_running')) throw error;
      if (tries === MAX_TRIES) return undefined;
    }
  }
}

async function takeOne(on: Queryable, holder: string, leaseMs: number): Promise<SyncJob | undefined> {
  const [job] = await on.query<SyncJob>(
    `WITH due AS MATERIALIZED (
       SELECT guild_id AS guild, id AS job FROM members.sync_jobs candidate
       WHERE finished_at IS NULL AND due_at <= ${NOW}
         AND (holder IS NULL OR leased_until IS NULL OR leased_until <= ${NOW})
         AND NOT EXISTS (
           SELECT 1 FROM members.sync_jobs other
           WHERE other.guild_id = candidate.guild_id AND other.finished_at IS NULL AND other.holder IS NOT NULL
             AND other.id <> candidate.id)
       ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
     )
     UPDATE members.sync_jobs SET state = 'running', holder = $1,
       leased_until = clock_timestamp() + $2 * interval '1 ms', started_at = coalesce(started_at, clock_timestamp())
     FROM due WHERE guild_id = due.guild AND id = due.job
     RETURNING ${JOB}`,
    [holder, leaseMs],
  );
  return job;
}

/** A finished job has no holder. */
const HELD = 'guild_id = $1 AND id = $2 AND holder = $3';

/** Renews the lease; false when another has the job by now. */
export async function keepJob(
  on: Queryable,
  { guildId, id }: JobName,
  holder: string,
  leaseMs: number,
): Promise<boolean> {
  const kept = await on.query(
    `UPDATE members.sync_jobs SET leased_until = clock_timestamp() + $4 * interval '1 ms' WHERE ${HELD} RETURNING 1`,
    [guildId, id, holder, leaseMs],
  );
  return kept.length > 0;
}

/** Stores how far a job has come; false when another has it by now. `errors` are left as they are when undefined. */
export async function saveProgress(
  on: Queryable,
  { guildId, id }: JobName,
  holder: string,
  { position, done, changed, failed, errors }: Omit<JobProgress, 'errors'> & { errors: JobError[] | undefined },
  leaseMs: number,
): Promise<boolean> {
  const saved = await on.query(
    `UPDATE members.sync_jobs SET position = $4, done = $5, changed = $6, failed = $7, errors = coalesce($8, errors),
       total = greatest(total, $5), attempts = 0, cause = NULL,
       progressed_at = CASE WHEN position = $4 THEN progressed_at ELSE clock_timestamp() END,
       leased_until = clock_timestamp() + $9 * interval '1 ms'
     WHERE ${HELD} RETURNING 1`,
    [guildId, id, holder, position, done, changed, failed, errors && JSON.stringify(errors), leaseMs],
  );
  return saved.length > 0;
}

/**
 * It cannot go on now and is tried again after so many milliseconds, or has failed when it has made no progress for so
 * many seconds. Its state then; undefined when another has it by now.
 */
export async function pauseJob(
  on: Queryable,
  { guildId, id }: JobName,
  holder: string,
  { cause, waitMs, giveUpSeconds }: { cause: JobError; waitMs: number; giveUpSeconds: number },
): Promise<'paused' | 'failed' | undefined> {
  const isOver = `clock_timestamp() - coalesce(progressed_at, started_at, created_at) >= $6 * interval '1 s'`;
  const [paused] = await on.query<{ state: 'paused' | 'failed' }>(
    `UPDATE members.sync_jobs SET attempts = attempts + 1, cause = $4, holder = NULL, leased_until = NULL,
       due_at = clock_timestamp() + $5 * interval '1 ms',
       state = CASE WHEN ${isOver} THEN 'failed' ELSE 'paused' END,
       finished_at = CASE WHEN ${isOver} THEN clock_timestamp() END
     WHERE ${HELD} RETURNING state`,
    [guildId, id, holder, cause, waitMs, giveUpSeconds],
  );
  return paused?.state;
}

/** Its holder stops: any replica may go on at once. */
export async function releaseJob(on: Queryable, { guildId, id }: JobName, holder: string): Promise<void> {
  await on.query(
    `UPDATE members.sync_jobs SET holder = NULL, leased_until = NULL, due_at = clock_timestamp() WHERE ${HELD}`,
    [guildId, id, holder],
  );
}

/** It has come to its end: all members count as dealt with, also those who are not in the guild. */
export async function finishJob(on: Queryable, { guildId, id }: JobName, holder: string): Promise<boolean> {
  const finished = await on.query(
    `UPDATE members.sync_jobs SET state = 'done', cause = NULL, holder = NULL, leased_until = NULL,
       finished_at = clock_timestamp(), done = total
     WHERE ${HELD} RETURNING 1`,
    [guildId, id, holder],
  );
  return finished.length > 0;
}

/** Of the unfinished jobs of one state, in seconds. */
export interface UnfinishedJobs {
  state: JobState;
  count: number;
  /** Since the oldest was queued. */
  oldestSeconds: number;
  /** Since that one made progress, or was started, that has stood still for longest; 0 for queued ones. */
  stalledSeconds: number;
}

/** How many unfinished jobs of all guilds there are in each state. */
export function unfinishedJobs(on: Queryable): Promise<UnfinishedJobs[]> {
  return on.query(
    `SELECT state, count(*)::int AS count,
       extract(epoch FROM clock_timestamp() - min(created_at))::float8 AS "oldestSeconds",
       coalesce(extract(epoch FROM clock_timestamp() - min(coalesce(progressed_at, started_at))), 0)::float8
         AS "stalledSeconds"
     FROM members.sync_jobs WHERE finished_at IS NULL GROUP BY state`,
  );
}
