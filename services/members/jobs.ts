import { randomUUID } from 'node:crypto';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Idempotency } from '#kit/postgres/idempotency/idempotency.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { ChatPlatform } from '#platforms/chat.ts';
import type { BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { AutomaticNicknames } from './domain/automatic-nicknames.ts';
import { BindingPreviews } from './domain/binding-previews.ts';
import { GroupSync } from './domain/group-sync.ts';
import { JobAdmin } from './domain/job-admin.ts';
import { JOB_QUEUE, jobQueue } from './domain/job-queue.ts';
import { PREVIEW_QUEUE, previewQueue } from './domain/preview-queue.ts';
import { PreviewRunner } from './domain/preview-run.ts';
import type { RoleChanges } from './domain/role-changes.ts';
import { SyncJobs } from './domain/sync-jobs.ts';
import type { MemberEvents } from './events.ts';
import { JobTelemetry } from './telemetry/jobs.ts';
import { PreviewTelemetry } from './telemetry/previews.ts';

export interface JobPartsOptions {
  database: Database;
  idempotency: Idempotency;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  chat: ChatPlatform;
  changes: RoleChanges;
  nicknames: AutomaticNicknames;
  events: MemberEvents;
  metrics: Metrics;
  log: Logger;
  /** Seconds without progress after which a synchronisation job fails permanently. */
  giveUpSeconds: number;
  /** Looks for due items of a queue. */
  wake: (queue: string) => void;
}

/** Creates the parts that handle all members of a guild in the background: synchronisation jobs and previews. */
export function buildJobs(options: JobPartsOptions) {
  const { database, idempotency, lookup, bindings, chat, changes, nicknames, events, metrics, log } = options;
  const telemetry = new JobTelemetry(metrics, log);
  const previewTelemetry = new PreviewTelemetry(log);
  const wake = () => options.wake(JOB_QUEUE);
  const newJobId = randomUUID;
  const groupSync = new GroupSync({ database, lookup, bindings, chat, changes, nicknames });
  const runner = new PreviewRunner({ database, lookup, bindings, chat });
  return {
    jobAdmin: new JobAdmin({ database, telemetry, events, wake }),
    jobs: new SyncJobs({ database, idempotency, lookup, newJobId, wake, telemetry, events }),
    previews: new BindingPreviews({
      database,
      idempotency,
      bindings,
      lookup,
      newJobId,
      wake: () => options.wake(PREVIEW_QUEUE),
      telemetry: previewTelemetry,
    }),
    jobQueue: jobQueue({ database, groupSync, telemetry, events, giveUpSeconds: options.giveUpSeconds }),
    previewQueue: previewQueue({ database, runner, telemetry: previewTelemetry }),
  };
}
