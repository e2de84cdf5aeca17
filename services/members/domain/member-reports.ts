import type { Transaction } from '#kit/postgres/pool.ts';
import type { MemberEvents } from '../events.ts';
import { countReport } from '../store/member-reports.ts';
import type { MemberReportTelemetry } from '../telemetry/member-reports.ts';
import type { MemberChange } from './member-changes.ts';

/** The maximum number of these events in one guild within an hour; changes beyond them are only counted. */
export const MAX_REPORTS_PER_HOUR = 5_000;

/**
 * Records events of what the chat platform reports about members: joins, leaves, and changes of roles by whomever. A guild
 * has them from its first use of this service on. A change of roles is known only of members whose roles the mirror had.
 */
export class MemberReports {
  readonly #events: MemberEvents;
  readonly #telemetry: MemberReportTelemetry;

  constructor(events: MemberEvents, telemetry: MemberReportTelemetry) {
    this.#events = events;
    this.#telemetry = telemetry;
  }

  /** Called in the transaction that stores a change of a member. */
  async changed(transaction: Transaction, change: MemberChange): Promise<void> {
    const event = eventOf(change);
    if (!event) return;
    const { guildId } = change;
    const count = await countReport(transaction, guildId);
    if (count === undefined) return;
    const isRecorded = count <= MAX_REPORTS_PER_HOUR;
    if (isRecorded) await this.#events.memberReported(transaction, guildId, event);
    transaction.afterCommit(() => {
      this.#telemetry.reported(isRecorded ? 'recorded' : 'dropped');
      if (count === MAX_REPORTS_PER_HOUR + 1) this.#telemetry.tooMany(guildId, MAX_REPORTS_PER_HOUR);
    });
  }
}

function eventOf({ kind, chatId, roles: { before, after } }: MemberChange) {
  if (kind === 'joined') return { type: 'member.joined', data: { chat_id: chatId } } as const;
  if (kind === 'left') return { type: 'member.left', data: { chat_id: chatId } } as const;
  const added = before ? after.filter((roleId) => !before.includes(roleId)) : [];
  const removed = before ? before.filter((roleId) => !after.includes(roleId)) : [];
  if (added.length + removed.length === 0) return undefined;
  return { type: 'member.roles_changed', data: { chat_id: chatId, added, removed } } as const;
}
