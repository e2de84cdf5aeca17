import { ApiError } from '#kit/errors.ts';
import type { EventSource } from '#kit/events/source.ts';
import { positionCodec } from '#kit/http/page-position.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { MemberEvents } from '../events.ts';
import type { JobRejection, ListedJob } from '../store/job-admin.ts';
import * as store from '../store/job-admin.ts';
import { countUnfinished, findJob, type JobError, type JobName, lockJobs } from '../store/sync-jobs.ts';
import type { JobTelemetry } from '../telemetry/jobs.ts';
import { MAX_JOBS } from './sync-jobs.ts';

export const CANCELLED: JobError = {
  chat_id: null,
  role_id: null,
  code: 'CANCELLED',
  message: 'An operator cancelled the job',
};

export interface JobAdminOptions {
  database: Database;
  telemetry: JobTelemetry;
  events: MemberEvents;
  /** Called when a retried job is due, so that the worker looks for it immediately. */
  wake: () => void;
}

/** Lists, retries and cancels synchronisation jobs for operators. */
export class JobAdmin {
  readonly #options: JobAdminOptions;

  constructor(options: JobAdminOptions) {
    this.#options = options;
  }

  /**
   * Returns a page of a guild's synchronisation jobs, the newest first. Throws INVALID_REQUEST for a position that no
   * page returned.
   */
  async list(
    guildId: string,
    { limit, position, unfinished }: { limit: number; position: string; unfinished: boolean },
  ): Promise<{ jobs: ListedJob[]; next: string }> {
    const after = position === '' ? undefined : positions.read(position);
    const found = await store.listJobs(this.#options.database, guildId, { after, limit: limit + 1, unfinished });
    const jobs = found.slice(0, limit);
    const last = found.length > limit ? jobs.at(-1) : undefined;
    return { jobs, next: last ? positions.write({ createdAt: last.position, id: last.id }) : '' };
  }

  /** Queues a paused, failed or cancelled job again. Throws NOT_FOUND and CONFLICT as the contract of RetryJob says. */
  async retry(name: JobName, operator: string): Promise<ListedJob> {
    const { database, telemetry, wake } = this.#options;
    const job = await database.transaction(async (transaction) => {
      await lockJobs(transaction, name.guildId);
      const requeued = jobOrThrow(await store.requeueJob(transaction, name), 'retried');
      await rejectTooMany(transaction, name.guildId);
      return requeued;
    });
    telemetry.changedByOperator('retried', name, operator);
    wake();
    return job;
  }

  /** Cancels an unfinished job. Throws NOT_FOUND and CONFLICT as the contract of CancelJob says. */
  async cancel(name: JobName, operator: string): Promise<ListedJob> {
    const { database, telemetry, events } = this.#options;
    const job = await database.transaction(async (transaction) => {
      const cancelled = jobOrThrow(await store.cancelJob(transaction, name, CANCELLED), 'cancelled');
      await recordEnd(transaction, name, events);
      return cancelled;
    });
    telemetry.changedByOperator('cancelled', name, operator);
    return job;
  }
}

function jobOrThrow(outcome: ListedJob | JobRejection, what: string): ListedJob {
  if (outcome === 'no such job') throw new ApiError('NOT_FOUND', { message: 'The guild has no such job' });
  if (outcome === 'another is unfinished') throw anotherIsUnfinished();
  if ('id' in outcome) return outcome;
  throw new ApiError('CONFLICT', { message: `The job is ${outcome.state} and cannot be ${what}` });
}

const anotherIsUnfinished = () =>
  new ApiError('CONFLICT', { message: 'Another job of the guild for the same group is not finished' });

/**
 * Updates a job after an operator has retried the job's item in the queue. Throws CONFLICT if another job of the same
 * group, or too many jobs of the guild, are unfinished.
 */
export async function continueJob(transaction: Transaction, name: JobName): Promise<void> {
  if (!(await store.requeuedJob(transaction, name))) throw anotherIsUnfinished();
  await rejectTooMany(transaction, name.guildId);
}

/** Marks a job as cancelled, and records its end, after an operator has discarded the job's item in the queue. */
export async function skipJob(transaction: Transaction, name: JobName, events: MemberEvents): Promise<void> {
  if (await store.skippedJob(transaction, name, CANCELLED)) await recordEnd(transaction, name, events);
}

/** Records the end of a job that has just ended, in the same transaction. */
export async function recordEnd(
  transaction: Transaction,
  name: JobName,
  events: MemberEvents,
  source?: EventSource,
): Promise<void> {
  const job = await findJob(transaction, name);
  if (job) await events.jobFinished(transaction, job, source);
}

/** Throws CONFLICT if the guild has more unfinished jobs than the maximum, now that a job was queued again. */
async function rejectTooMany(transaction: Transaction, guildId: string): Promise<void> {
  if ((await countUnfinished(transaction, guildId)) <= MAX_JOBS) return;
  throw new ApiError('CONFLICT', { message: `The guild has ${MAX_JOBS} unfinished jobs, which is the maximum` });
}

const positions = positionCodec(
  { createdAt: /[0-9]{1,17}/, id: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/ },
  { path: 'request.cursor', message: 'is not a next_cursor of this list' },
);
