import { withPurpose } from '#kit/context.ts';
import { type ApiError, asApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { type AttemptEnd, Interrupted, type QueueDefinition } from '#kit/queue/definition.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import { skippedJob } from '../store/job-admin.ts';
import type { JobData, JobError, JobItem } from '../store/sync-jobs.ts';
import * as store from '../store/sync-jobs.ts';
import type { JobTelemetry } from '../telemetry/jobs.ts';
import type { GroupSync } from './group-sync.ts';
import { CANCELLED, continueJob } from './job-admin.ts';

export const JOB_QUEUE = 'sync-jobs';
const CONCURRENCY = 4;
const LEASE_MS = 15_000;
const BACKOFF = { minMs: 10_000, maxMs: 60_000 };

export interface JobQueueOptions {
  database: Database;
  groupSync: GroupSync;
  telemetry: JobTelemetry;
  /** Seconds without progress after which a synchronisation job fails permanently. */
  giveUpSeconds: number;
}

/**
 * Thrown when this process has lost a job's lease, because another process took the job or an operator cancelled it.
 */
class LostJob extends Error {}

/**
 * The queue that runs synchronisation jobs, one job of a guild at a time. Any error pauses a job, which later continues
 * at its stored position.
 */
export function jobQueue(options: JobQueueOptions): QueueDefinition<JobData> {
  const { database, telemetry, giveUpSeconds } = options;
  return {
    name: JOB_QUEUE,
    table: store.SYNC_JOBS,
    ordered: false,
    concurrency: CONCURRENCY,
    maxPerGuild: 1,
    leaseMs: LEASE_MS,
    retry: {
      delayMs,
      isPermanent: () => false,
      // Every failure counts as an attempt, because after several attempts a job skips a member for which a platform
      // fails.
      isOutage: () => false,
      limits: { maxAttempts: null, maxOutageSeconds: giveUpSeconds },
    },
    handle: (item) => run(item, options),
    recorded: (transaction, item, end) => record(transaction, item, end),
    settled: (item, end) => telemetry.settled(item, end),
    statsRead: async () => telemetry.counted(await store.unfinishedJobs(database)),
    // The lock on a guild's jobs is taken before the job's row is locked, in the same order as for a new job, to avoid
    // deadlocks.
    retrying: (transaction, { guildId }) => store.lockJobs(transaction, guildId),
    retried: continueJob,
    skipped: (transaction, item) => skippedJob(transaction, item, CANCELLED),
  };
}

/**
 * Returns the milliseconds until a failed job is retried: longer after each attempt without progress, and at least the
 * `Retry-After` of the failed call, up to a minute.
 */
function delayMs(attempts: number, { retryAfter = 0 }: ApiError): number {
  return Math.max(backoffMs(attempts, BACKOFF), Math.min(BACKOFF.maxMs, 1000 * retryAfter));
}

async function run(item: JobItem, { database, groupSync, telemetry }: JobQueueOptions): Promise<void> {
  const { guildId, id, signal, data } = item;
  const { gameGroupId, position, done, changed, failed, errors, failedAttempts } = data;
  const job = { guildId, id, gameGroupId, attempts: failedAttempts };
  const progress = { position, done, changed, failed, errors: [...errors] };
  const saved = { ...progress, errorCount: errors.length };
  const save = async () => {
    const changedErrors = progress.errors.length > saved.errorCount ? progress.errors : undefined;
    if (!(await store.saveProgress(database, item, { ...progress, errors: changedErrors }))) throw new LostJob();
    telemetry.advanced({
      done: progress.done - saved.done,
      changed: progress.changed - saved.changed,
      failed: progress.failed - saved.failed,
    });
    Object.assign(saved, progress, { errorCount: progress.errors.length });
    job.attempts = 0;
  };
  telemetry.taken(item);
  if (!(await store.startJob(database, item))) throw new LostJob();
  const isComplete = await withPurpose('job', () => groupSync.run({ job, progress, save, signal }));
  if (!isComplete) throw new Interrupted();
}

async function record(
  transaction: Parameters<typeof store.completeJob>[0],
  item: JobItem,
  { outcome, error }: AttemptEnd,
) {
  if (outcome === 'done') await store.completeJob(transaction, item);
  else await store.endAttempt(transaction, item, outcome === 'dead' ? 'failed' : 'paused', causeOf(asApiError(error)));
}

const causeOf = ({ code, message }: ApiError): JobError => ({ chat_id: null, role_id: null, code, message });
