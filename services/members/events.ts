import { unixSeconds } from '#kit/clock.ts';
import type { EventRecorder } from '#kit/events/recorder.ts';
import { type EventSource, publicSource } from '#kit/events/source.ts';
import type { Transaction } from '#kit/postgres/pool.ts';
import type { EventData, NewEvent } from '#proto/rest/events/index.ts';
import type { Changes } from './domain/role-plan.ts';
import type { SyncJob } from './store/sync-jobs.ts';

/** The result of a role synchronisation of one member. */
export interface SyncedRoles {
  guildId: string;
  chatId: string;
  /** The linked game account; null if the member is not linked. */
  gameId: number | null;
  changes: Changes;
}

/** An event about a member that the chat platform has reported. */
export type MemberReport = NewEvent<'member.joined' | 'member.left' | 'member.roles_changed'>;

/** The source of changes that were made on the chat platform. */
const CHAT_PLATFORM: EventSource = { kind: 'system', id: 'chat-platform' };

/** Returns the source that was stored with work that is done later; without one the service itself is the source. */
export const storedSource = (source: EventSource | null): EventSource => source ?? { kind: 'system', id: 'members' };

/**
 * Returns the stored source for results that follow from a request, without what only the audit has: the request itself is
 * in the audit, and a job may have many results.
 */
export const sourceOfResults = (source: EventSource | null) => publicSource(storedSource(source));

/** Records the events of the members service, each in the transaction that stores the result of the change. */
export class MemberEvents {
  readonly #recorder: EventRecorder;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  /** Records the role changes of members, without those in which nothing was changed and nothing failed. */
  rolesChanged(transaction: Transaction, synced: readonly SyncedRoles[]): Promise<void> {
    const changed = synced.filter(
      ({ changes: { added, removed, failed } }) => added.length + removed.length + failed.length > 0,
    );
    return this.#recorder.record(
      transaction,
      changed.map(({ guildId, chatId, gameId, changes }) => ({
        guildId,
        type: 'roles.changed',
        data: { chat_id: chatId, game_id: gameId, ...changes, reason: gameId === null ? 'unlinked' : 'bindings' },
      })),
    );
  }

  /** Records what the chat platform has reported about members. */
  membersReported(
    transaction: Transaction,
    reports: readonly { guildId: string; event: MemberReport }[],
  ): Promise<void> {
    const events = reports.map(({ guildId, event }) => ({ guildId, ...event, source: CHAT_PLATFORM }));
    return this.#recorder.record(transaction, events);
  }

  /** Records that somebody has started a synchronisation job, for the audit. */
  jobRequested(transaction: Transaction, guildId: string, data: { job_id: string; game_group_id: number }) {
    return this.#recorder.record(transaction, [{ guildId, type: 'sync.requested', data }]);
  }

  /** Records that somebody has invited a linked account, for the audit. */
  inviteCreated(
    transaction: Transaction,
    guildId: string,
    data: { chat_id: string; role_ids: string[]; expires_at: number | null },
  ): Promise<void> {
    return this.#recorder.record(transaction, [{ guildId, type: 'invite.created', data }]);
  }

  /** Records a change of the guild's settings, for the audit. */
  settingsUpdated(transaction: Transaction, guildId: string, change: { data: object; before: object }): Promise<void> {
    return this.#recorder.record(transaction, [{ guildId, type: 'settings.updated', ...change }]);
  }

  nicknameChanged(transaction: Transaction, guildId: string, data: EventData<'nickname.changed'>): Promise<void> {
    return this.#recorder.record(transaction, [{ guildId, type: 'nickname.changed', data }]);
  }

  /** Records the end of a synchronisation job. Without a source, it is the source of the current work. */
  jobFinished(transaction: Transaction, job: SyncJob, source?: EventSource): Promise<void> {
    const { guildId, id, gameGroupId, state, total, done, changed, failed, cause, startedAt, finishedAt } = job;
    const data = {
      job_id: id,
      game_group_id: gameGroupId,
      total,
      done,
      changed,
      failed,
      started_at: startedAt && unixSeconds(startedAt),
      finished_at: finishedAt && unixSeconds(finishedAt),
      state: state === 'done' ? ('done' as const) : ('failed' as const),
      // The chat ID that a cause can have is left out, so that the event names no person.
      cause: cause && { code: cause.code, message: cause.message },
    };
    return this.#recorder.record(transaction, [
      { guildId, type: 'sync.job.finished', data, ...(source && { source }) },
    ]);
  }
}
