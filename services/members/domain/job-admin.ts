import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { JobPosition, JobRefusal, ListedJob } from '../store/job-admin.ts';
import * as store from '../store/job-admin.ts';
import { countUnfinished, type JobError, type JobName, lockJobs } from '../store/sync-jobs.ts';
import type { JobEvents } from '../telemetry/jobs.ts';
import { MAX_JOBS } from './sync-jobs.ts';

const CANCELLED: JobError = {
  chat_id: null,
  role_id: null,
  code: 'CANCELLED',
  message: 'An operator cancelled the job',
};

export interface JobAdminOptions {
  database: Database;
  events: JobEvents;
  /** Called when there is a job to run. */
  wake: () => void;
}

/** What operators do with synchronisation jobs. */
export class JobAdmin {
  readonly #options: JobAdminOptions;

  constructor(options: JobAdminOptions) {
    this.#options = options;
  }

  /** A page of a guild's jobs, the newest first; INVALID_REQUEST for a position that no page gave. */
  async list(
    guildId: string,
    { limit, position, unfinished }: { limit: number; position: string; unfinished: boolean },
  ): Promise<{ jobs: ListedJob[]; next: string }> {
    const after = position === '' ? undefined : readPosition(position);
    const found = await store.listJobs(this.#options.database, guildId, { after, limit: limit + 1, unfinished });
    const jobs = found.slice(0, limit);
    const last = found.length > limit ? jobs.at(-1) : undefined;
    return { jobs, next: last ? writePosition({ createdAt: last.position, id: last.id }) : '' };
  }

  /** NOT_FOUND and CONFLICT as the contract of RetryJob says. */
  async retry(name: JobName, actor: string): Promise<ListedJob> {
    const { database, events, wake } = this.#options;
    const job = await database.transaction(async (transaction) => {
      await lockJobs(transaction, name.guildId);
      const requeued = orRefusal(await store.requeueJob(transaction, name), 'retried');
      if ((await countUnfinished(transaction, name.guildId)) > MAX_JOBS) {
        throw new ApiError('CONFLICT', { message: `The guild has ${MAX_JOBS} unfinished jobs, which is the maximum` });
      }
      return requeued;
    });
    events.changedByOperator('retried', name, actor);
    wake();
    return job;
  }

  /** NOT_FOUND and CONFLICT as the contract of CancelJob says. */
  async cancel(name: JobName, actor: string): Promise<ListedJob> {
    const { database, events } = this.#options;
    const job = orRefusal(await store.cancelJob(database, name, CANCELLED), 'cancelled');
    events.changedByOperator('cancelled', name, actor);
    return job;
  }
}

function orRefusal(outcome: ListedJob | JobRefusal, what: string): ListedJob {
  if (outcome === 'no such job') throw new ApiError('NOT_FOUND', { message: 'The guild has no such job' });
  if (outcome === 'another is unfinished') {
    throw new ApiError('CONFLICT', { message: 'Another job of the guild for the same group is not finished' });
  }
  if ('id' in outcome) return outcome;
  throw new ApiError('CONFLICT', { message: `The job is ${outcome.state} and cannot be ${what}` });
}

const POSITION = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?[+-]\d\d(?::\d\d)?) ([0-9a-f-]{36})$/;

const writePosition = ({ createdAt, id }: JobPosition) => Buffer.from(`${createdAt} ${id}`).toString('base64url');

function readPosition(position: string): JobPosition {
  const [, createdAt, id] = POSITION.exec(Buffer.from(position, 'base64url').toString()) ?? [];
  if (createdAt !== undefined && id !== undefined) return { createdAt, id };
  throw invalidRequest([{ path: 'request.cursor', message: 'is not a next_cursor of this list' }]);
}
