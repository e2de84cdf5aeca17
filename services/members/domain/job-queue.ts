import { withPurpose } from '#kit/context.ts';
import { type ApiError, asApiError } from '#kit/errors.ts';
import { withEventSource } from '#kit/events/source.ts';
import type { Database, Queryable, Transaction } from '#kit/postgres/pool.ts';
import { type AttemptEnd, Interrupted, type QueueDefinition } from '#kit/queue/definition.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import { type MemberEvents, type SyncedRoles, sourceOfResults } from '../events.ts';
import type { JobData, JobError, JobItem } from '../store/sync-jobs.ts';
import * as store from '../store/sync-jobs.ts';
import type { JobTelemetry } from '../telemetry/jobs.ts';
import type { GroupSync } from './group-sync.ts';
import { continueJob, recordEnd, skipJob } from './job-admin.ts';
import { TimeSlice } from './time-slice.ts';
import { throwIfWorkersDied } from './worker-deaths.ts';

export const JOB_QUEUE = 'sync-jobs';
const CONCURRENCY = 4;
const LEASE_MS = 15_000;
const BACKOFF = { minMs: 10_000, maxMs: 60_000 };

export interface JobQueueOptions {
  database: Database;
  groupSync: GroupSync;
  telemetry: JobTelemetry;
  events: MemberEvents;
  /** Seconds without progress after which a synchronisation job fails permanently. */
  giveUpSeconds: number;
  /** How long a job runs, in milliseconds, before jobs of other guilds are run; 30 seconds if omitted. */
  sliceMs?: number;
}

/**
 * Thrown when this process has lost a job's lease, because another process took the job or an operator cancelled it.
 */
class LostJob extends Error {}

/**
 * The queue that runs synchronisation jobs, one job of a guild at a time. A job that is not done after its time slice goes
 * behind the other due jobs. Any error pauses a job. Both continue at their stored position.
 */
export function jobQueue(options: JobQueueOptions): QueueDefinition<JobData> {
  const { database, telemetry, events, giveUpSeconds } = options;
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
    recorded: (transaction, item, end) => record(transaction, item, end, events),
    settled: (item, end) => telemetry.settled(item, end),
    statsRead: async () => telemetry.counted(await store.unfinishedJobs(database)),
    // The lock on a guild's jobs is taken before the job's row is locked, in the same order as for a new job, to avoid
    // deadlocks.
    retrying: (transaction, { guildId }) => store.lockJobs(transaction, guildId),
    retried: continueJob,
    skipped: (transaction, item) => skipJob(transaction, item, events),
  };
}

/**
 * Returns the milliseconds until a failed job is retried: longer after each attempt without progress, and at least the
 * `Retry-After` of the failed call, up to a minute.
 */
function delayMs(attempts: number, { retryAfter = 0 }: ApiError): number {
  return Math.max(backoffMs(attempts, BACKOFF), Math.min(BACKOFF.maxMs, 1000 * retryAfter));
}

async function run(item: JobItem, options: JobQueueOptions): Promise<void> {
  const { database, groupSync, telemetry, events, giveUpSeconds, sliceMs } = options;
  const { guildId, id, signal, data } = item;
  const { gameGroupId, position, done, changed, failed, errors, failedAttempts } = data;
  const job = { guildId, id, gameGroupId, attempts: failedAttempts };
  const slice = new TimeSlice(signal, sliceMs);
  const progress = { position, done, changed, failed, errors: [...errors] };
  const saved = { ...progress, errorCount: errors.length };
  const save = async (synced: readonly SyncedRoles[] = []) => {
    const errors = progress.errors.length > saved.errorCount ? progress.errors : undefined;
    const write = async (on: Queryable) => {
      if (!(await store.saveProgress(on, item, { ...progress, errors }))) throw new LostJob();
    };
    if (synced.length === 0) await write(database);
    else {
      await database.transaction(async (transaction) => {
        await write(transaction);
        await events.rolesChanged(transaction, synced);
      });
    }
    telemetry.advanced({
      done: progress.done - saved.done,
      changed: progress.changed - saved.changed,
      failed: progress.failed - saved.failed,
    });
    Object.assign(saved, progress, { errorCount: progress.errors.length });
    job.attempts = 0;
    slice.advanced();
  };
  telemetry.taken(item);
  const stalledSeconds = await store.startJob(database, item);
  if (stalledSeconds === undefined) throw new LostJob();
  throwIfWorkersDied(item, stalledSeconds, giveUpSeconds);
  const work = () => groupSync.run({ job, progress, save, signal, slice });
  const isComplete = await withPurpose('job', () => withEventSource(sourceOfResults(data.source), work));
  if (!isComplete) throw new Interrupted();
}

async function record(
  transaction: Transaction,
  item: JobItem,
  { outcome, error }: AttemptEnd,
  events: MemberEvents,
): Promise<void> {
  if (outcome === 'done') await store.completeJob(transaction, item);
  else await store.endAttempt(transaction, item, outcome === 'dead' ? 'failed' : 'paused', causeOf(asApiError(error)));
  if (outcome !== 'retried') await recordEnd(transaction, item, events, sourceOfResults(item.data.source));
}

const causeOf = ({ code, message }: ApiError): JobError => ({ chat_id: null, role_id: null, code, message });
