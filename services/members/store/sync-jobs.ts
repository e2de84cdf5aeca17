import type { Queryable } from '#kit/postgres.ts';

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
  now: Date,
): Promise<void> {
  await on.query(
    `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, due_at, created_at)
     VALUES ($1, $2, $3, 'queued', $4, $5, $5)`,
    [guildId, id, gameGroupId, total, now],
  );
}

export async function findJob(on: Queryable, { guildId, id }: JobName): Promise<SyncJob | undefined> {
  const [job] = await on.query<SyncJob>(`SELECT ${JOB} FROM members.sync_jobs WHERE guild_id = $1 AND id = $2`, [
    guildId,
    id,
  ]);
  return job;
}

/** Takes a job that is due, of a guild of which no other runs; other replicas pass it over until `until`. */
export async function takeJob(on: Queryable, holder: string, now: Date, until: Date): Promise<SyncJob | undefined> {
  const [job] = await on.query<SyncJob>(
    `WITH due AS MATERIALIZED (
       SELECT guild_id AS guild, id AS job FROM members.sync_jobs candidate
       WHERE finished_at IS NULL AND due_at <= $2 AND NOT EXISTS (
         SELECT 1 FROM members.sync_jobs other
         WHERE other.guild_id = candidate.guild_id AND other.finished_at IS NULL AND other.holder IS NOT NULL
           AND other.due_at > $2)
       ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
     )
     UPDATE members.sync_jobs SET state = 'running', holder = $1, due_at = $3, started_at = coalesce(started_at, $2)
     FROM due WHERE guild_id = due.guild AND id = due.job
     RETURNING ${JOB}`,
    [holder, now, until],
  );
  return job;
}

/** A finished job has no holder. */
const HELD = 'guild_id = $1 AND id = $2 AND holder = $3';

/** Holds a job for longer; false when another has it by now. */
export async function keepJob(on: Queryable, { guildId, id }: JobName, holder: string, until: Date): Promise<boolean> {
  const kept = await on.query(`UPDATE members.sync_jobs SET due_at = $4 WHERE ${HELD} RETURNING 1`, [
    guildId,
    id,
    holder,
    until,
  ]);
  return kept.length > 0;
}

/** Notes how far a job has come; false when another has it by now. `errors` are left as they are when undefined. */
export async function saveProgress(
  on: Queryable,
  { guildId, id }: JobName,
  holder: string,
  { position, done, changed, failed, errors }: Omit<JobProgress, 'errors'> & { errors: JobError[] | undefined },
  until: Date,
): Promise<boolean> {
  const saved = await on.query(
    `UPDATE members.sync_jobs SET position = $4, done = $5, changed = $6, failed = $7, errors = coalesce($8, errors),
       total = greatest(total, $5), attempts = 0, cause = NULL, due_at = $9
     WHERE ${HELD} RETURNING 1`,
    [guildId, id, holder, position, done, changed, failed, errors && JSON.stringify(errors), until],
  );
  return saved.length > 0;
}

/** It can't go on now, and is tried again from `dueAt` on. */
export async function pauseJob(
  on: Queryable,
  { guildId, id }: JobName,
  holder: string,
  cause: JobError,
  dueAt: Date,
): Promise<void> {
  await on.query(
    `UPDATE members.sync_jobs SET state = 'paused', attempts = attempts + 1, cause = $4, holder = NULL, due_at = $5
     WHERE ${HELD}`,
    [guildId, id, holder, cause, dueAt],
  );
}

/** Its holder stops: any replica may go on at once. */
export async function releaseJob(on: Queryable, { guildId, id }: JobName, holder: string, now: Date): Promise<void> {
  await on.query(`UPDATE members.sync_jobs SET holder = NULL, due_at = $4 WHERE ${HELD}`, [guildId, id, holder, now]);
}

/** The end of a job; of one that is done, all members count as dealt with, also those who are not in the guild. */
export async function finishJob(
  on: Queryable,
  { guildId, id }: JobName,
  holder: string,
  { state, cause }: { state: 'done' | 'failed'; cause: JobError | null },
  now: Date,
): Promise<boolean> {
  const finished = await on.query(
    `UPDATE members.sync_jobs SET state = $4, cause = $5, holder = NULL, finished_at = $6,
       done = CASE WHEN $4 = 'done' THEN total ELSE done END
     WHERE ${HELD} RETURNING 1`,
    [guildId, id, holder, state, cause, now],
  );
  return finished.length > 0;
}

/** How many unfinished jobs of all guilds there are in each state, and since when the oldest waits. */
export function unfinishedJobs(on: Queryable): Promise<{ state: JobState; count: number; oldest: Date }[]> {
  return on.query(
    `SELECT state, count(*)::int AS count, min(created_at) AS oldest FROM members.sync_jobs
     WHERE finished_at IS NULL GROUP BY state`,
  );
}
