import { unixSeconds } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { currentEventSource } from '#kit/events/source.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MemberEvents } from '../events.ts';
import * as store from '../store/sync-jobs.ts';
import type { JobTelemetry } from '../telemetry/jobs.ts';

/** The maximum number of unfinished synchronisation jobs of a guild. */
export const MAX_JOBS = 20;

export interface SyncJobsOptions {
  database: Queryable;
  idempotency: Idempotency;
  lookup: GrpcClient<typeof LookupServiceService>;
  /** Returns a new UUID for a synchronisation job. */
  newJobId: () => string;
  /** Called when a synchronisation job was queued, so that the worker looks for it immediately. */
  wake: () => void;
  telemetry: JobTelemetry;
  events: MemberEvents;
}

/** Starts and shows synchronisation jobs for clients of the REST API. */
export class SyncJobs {
  readonly #options: SyncJobsOptions;

  constructor(options: SyncJobsOptions) {
    this.#options = options;
  }

  /**
   * Starts a synchronisation job for a group, or returns the group's unfinished job. Throws CONFLICT if the guild has
   * too many unfinished jobs.
   */
  async start(write: IdempotentWrite, gameGroupId: number): Promise<WriteOutcome<{ job_id: string; total: number }>> {
    const { idempotency, lookup, newJobId, wake, telemetry, events } = this.#options;
    const { guildId } = write;
    let started: store.JobName | undefined;
    const outcome = await idempotency.afterPreparing(
      write,
      () => lookup.countLinks({ guildId }),
      async (transaction, { count: total }) => {
        await store.lockJobs(transaction, guildId);
        const running = await store.findUnfinished(transaction, guildId, gameGroupId);
        if (running) return ok({ job_id: running.id, total: running.total });
        if ((await store.countUnfinished(transaction, guildId)) >= MAX_JOBS) throw tooMany();
        started = { guildId, id: newJobId() };
        await store.insertJob(transaction, { ...started, gameGroupId, total, source: currentEventSource() ?? null });
        await events.jobRequested(transaction, guildId, { job_id: started.id, game_group_id: gameGroupId });
        return ok({ job_id: started.id, total });
      },
    );
    if (started) {
      telemetry.queued(started, gameGroupId);
      wake();
    }
    return outcome;
  }

  /** Returns a synchronisation job for a REST response. Throws NOT_FOUND if the guild has no such job. */
  async get(name: store.JobName) {
    const job = await store.findJob(this.#options.database, name);
    if (!job) throw new ApiError('NOT_FOUND', { message: 'No such job in this guild' });
    const { state, total, done, changed, failed, errors, cause, startedAt, finishedAt } = job;
    return {
      state,
      total,
      done,
      changed,
      failed,
      errors: [...errors, ...errorsLeftOut(job), ...(cause ? [cause] : [])],
      started_at: startedAt && unixSeconds(startedAt),
      finished_at: finishedAt && unixSeconds(finishedAt),
    };
  }
}

/**
 * Returns one entry that says how many failed members have no entry in `errors`; an empty list if every failed member
 * has one.
 */
function errorsLeftOut({ failed, errors }: store.SyncJob): store.JobError[] {
  const members = failed - new Set(errors.map((error) => error.chat_id)).size;
  if (members <= 0) return [];
  const message = `The errors of ${members} more ${members === 1 ? 'member' : 'members'} are left out`;
  return [{ chat_id: null, role_id: null, code: 'ERRORS_LEFT_OUT', message }];
}

const tooMany = () =>
  new ApiError('CONFLICT', {
    message: `The guild has ${MAX_JOBS} unfinished jobs, which is the maximum`,
    retryAfter: 60,
  });
