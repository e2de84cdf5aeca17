import { withPurpose } from '#kit/context.ts';
import { type ApiError, asApiError, isServerError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { Interrupted, NO_LIMITS, type QueueDefinition } from '#kit/queue/definition.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import * as store from '../store/binding-previews.ts';
import type { JobError } from '../store/sync-jobs.ts';
import type { PreviewTelemetry } from '../telemetry/previews.ts';
import { LostPreview, type PreviewRunner, WaitsForSync } from './preview-run.ts';
import { throwIfWorkersDied, WorkersDied } from './worker-deaths.ts';

export const PREVIEW_QUEUE = 'binding-previews';
const CONCURRENCY = 2;
const LEASE_MS = 15_000;
const BACKOFF = { minMs: 2_000, maxMs: 30_000 };
/** Milliseconds until a preview looks again whether the sync jobs of its guild have finished. */
const SYNC_WAIT_MS = 5_000;
/** Seconds without progress after which a preview fails: somebody waits for the result. */
const GIVE_UP_SECONDS = 600;

export interface PreviewQueueOptions {
  database: Queryable;
  runner: PreviewRunner;
  telemetry: PreviewTelemetry;
}

/**
 * The queue that runs previews. A preview that is not done after its time slice goes behind the other due previews, and an
 * error pauses it; both continue at their stored position. A preview that
 * cannot succeed fails; it never becomes a dead letter, because nobody has to repair anything.
 */
export function previewQueue({ database, runner, telemetry }: PreviewQueueOptions): QueueDefinition<store.PreviewData> {
  return {
    name: PREVIEW_QUEUE,
    table: store.BINDING_PREVIEWS,
    ordered: false,
    concurrency: CONCURRENCY,
    maxPerGuild: 1,
    leaseMs: LEASE_MS,
    handlerFinishes: true,
    retry: {
      delayMs: (attempts, error) => (error instanceof WaitsForSync ? SYNC_WAIT_MS : backoffMs(attempts, BACKOFF)),
      isPermanent: () => false,
      isOutage: () => false,
      limits: NO_LIMITS,
    },
    async handle(item) {
      try {
        const stalledSeconds = await store.startPreview(database, item);
        if (stalledSeconds === undefined) return;
        throwIfWorkersDied(item, stalledSeconds, GIVE_UP_SECONDS);
        await withPurpose('job', () => runner.run(item));
        await store.completePreview(database, item);
      } catch (error) {
        if (error instanceof LostPreview) return;
        if (error instanceof WorkersDied) telemetry.workersDied(item);
        if (error instanceof Interrupted || !(await hasFailed(database, item, asApiError(error)))) throw error;
      }
    },
    settled: (item, end) => telemetry.settled(item, end),
  };
}

/** Stores the cause of an error. Returns true if the preview has thereby failed, and false if it has to be retried. */
async function hasFailed(database: Queryable, item: store.PreviewItem, error: ApiError): Promise<boolean> {
  const isWaiting = error instanceof WaitsForSync;
  const cause: JobError = { chat_id: null, role_id: null, code: error.code, message: error.message };
  const always = !isServerError(error);
  if (!isWaiting && (await store.failPreview(database, item, { cause, always, seconds: GIVE_UP_SECONDS }))) return true;
  await store.pausePreview(database, item, { cause, isWaiting });
  return false;
}
