import { unixSeconds } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Binding, BindingsServiceService, PlanBindingRequest } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import * as store from '../store/binding-previews.ts';
import type { JobError, JobName } from '../store/sync-jobs.ts';
import type { PreviewTelemetry } from '../telemetry/previews.ts';

/** The maximum number of previews of a guild that are stored; starting another one deletes the oldest. */
const MAX_PREVIEWS = 20;

const REPLACED: JobError = {
  chat_id: null,
  role_id: null,
  code: 'REPLACED',
  message: 'A newer preview of the guild has replaced this one',
};

export interface BindingPreviewsOptions {
  database: Queryable;
  idempotency: Idempotency;
  bindings: GrpcClient<typeof BindingsServiceService>;
  lookup: GrpcClient<typeof LookupServiceService>;
  /** Returns a new UUID for a preview. */
  newJobId: () => string;
  /** Called when a preview was queued, so that the worker looks for it immediately. */
  wake: () => void;
  telemetry: PreviewTelemetry;
}

/** Starts and shows previews: jobs that compute what adding, changing or removing a role binding would do to all members. */
export class BindingPreviews {
  readonly #options: BindingPreviewsOptions;

  constructor(options: BindingPreviewsOptions) {
    this.#options = options;
  }

  /**
   * Starts a preview, which replaces the guild's unfinished one. Throws NOT_FOUND, INVALID_REQUEST, INVALID_TARGET or
   * NOT_APPLICABLE if the binding is not possible, and the errors of the platforms.
   */
  async start(
    write: IdempotentWrite,
    plan: PlanBindingRequest['plan'],
  ): Promise<WriteOutcome<{ job_id: string; total: number }>> {
    const { idempotency, newJobId, wake, telemetry } = this.#options;
    const { guildId } = write;
    let started: JobName | undefined;
    const outcome = await idempotency.afterPreparing(
      write,
      () => this.#prepare(guildId, plan),
      async (transaction, { binding, total }) => {
        started = { guildId, id: newJobId() };
        await store.lockPreviews(transaction, guildId);
        await store.replacePreviews(transaction, guildId, { cause: REPLACED, kept: MAX_PREVIEWS - 1 });
        const isRemoval = plan?.$case === 'removedBindingId';
        await store.insertPreview(transaction, started, { binding, isRemoval, total });
        return ok({ job_id: started.id, total });
      },
    );
    if (started) {
      telemetry.queued(started);
      wake();
    }
    return outcome;
  }

  async #prepare(guildId: string, plan: PlanBindingRequest['plan']): Promise<{ binding: Binding; total: number }> {
    const { bindings, lookup } = this.#options;
    const [{ binding }, { count }] = await Promise.all([
      bindings.planBinding({ guildId, plan }),
      lookup.countLinks({ guildId }),
    ]);
    if (!binding) throw new TypeError('bindings returned no planned binding');
    return { binding, total: count };
  }

  /** Returns a preview for a REST response; undefined if the guild has no such preview. */
  async get(name: JobName) {
    const preview = await store.findPreview(this.#options.database, name);
    if (!preview) return undefined;
    const { binding, state, total, done, gained, lost, unknown, named, cause, startedAt, finishedAt } = preview;
    const roleId = binding.chatRoleId;
    return {
      state,
      total,
      done,
      changed: gained + lost,
      failed: 0,
      errors: cause ? [cause] : [],
      started_at: startedAt && unixSeconds(startedAt),
      finished_at: finishedAt && unixSeconds(finishedAt),
      result: {
        roles: [{ role_id: roleId, gained, lost, unknown }],
        members: named.map(({ chat_id, username, change }) => ({ chat_id, username, role_id: roleId, change })),
      },
    };
  }
}
