import type { Transaction } from '#kit/postgres/pool.ts';
import type { MemberEvents, MemberReport } from '../events.ts';
import { countReports } from '../store/member-reports.ts';
import type { MemberReportTelemetry } from '../telemetry/member-reports.ts';
import { changesByGuild, type MemberChange } from './member-changes.ts';

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

  /** Called in the transaction that stores changes of members. */
  async changed(transaction: Transaction, changes: readonly MemberChange[]): Promise<void> {
    const guilds = changesByGuild(changes)
      .map(([guildId, ofGuild]) => ({ guildId, events: ofGuild.flatMap((change) => eventOf(change) ?? []) }))
      .filter(({ events }) => events.length > 0);
    if (guilds.length === 0) return;
    const reports = guilds.map(({ guildId, events }) => ({ guildId, reports: events.length }));
    const counts = await countReports(transaction, reports);
    const counted = guilds.flatMap(({ guildId, events }): CountedReports[] => {
      const count = counts.get(guildId);
      return count === undefined ? [] : [{ guildId, events, before: count - events.length }];
    });
    const recorded = counted.flatMap(({ guildId, events, before }) =>
      events.slice(0, Math.max(0, MAX_REPORTS_PER_HOUR - before)).map((event) => ({ guildId, event })),
    );
    await this.#events.membersReported(transaction, recorded);
    transaction.afterCommit(() => this.#countAll(counted, recorded.length));
  }

  #countAll(counted: readonly CountedReports[], recorded: number): void {
    const all = counted.reduce((sum, { events }) => sum + events.length, 0);
    this.#telemetry.reported('recorded', recorded);
    this.#telemetry.reported('dropped', all - recorded);
    for (const { guildId, events, before } of counted) {
      const isFirst = before <= MAX_REPORTS_PER_HOUR && before + events.length > MAX_REPORTS_PER_HOUR;
      if (isFirst) this.#telemetry.tooMany(guildId, MAX_REPORTS_PER_HOUR);
    }
  }
}

/** The changes of members of a guild, and the number of those within this hour before them. */
interface CountedReports {
  guildId: string;
  events: readonly MemberReport[];
  before: number;
}

function eventOf({ kind, chatId, roles: { before, after } }: MemberChange) {
  if (kind === 'joined') return { type: 'member.joined', data: { chat_id: chatId } } as const;
  if (kind === 'left') return { type: 'member.left', data: { chat_id: chatId } } as const;
  const added = before ? after.filter((roleId) => !before.includes(roleId)) : [];
  const removed = before ? before.filter((roleId) => !after.includes(roleId)) : [];
  if (added.length + removed.length === 0) return undefined;
  return { type: 'member.roles_changed', data: { chat_id: chatId, added, removed } } as const;
}
