import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { MemberName } from '../store/roles.ts';

/** `member`: the account is in the guild already; `repeated`: the invite of a moment ago was returned again. */
export type InviteOutcome = 'created' | 'repeated' | 'member' | 'rejected';

/** The metrics and log lines about invites of linked accounts. The addresses of invites are never logged. */
export class JoinTelemetry {
  readonly #invites;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#invites = metrics.counterOf(
      'members_role_invites_total',
      'Requested invites of linked accounts, by outcome: created, repeated within a minute, member (no invite needed), or rejected by the chat platform',
      'outcome',
      ['created', 'repeated', 'member', 'rejected'],
    );
    this.#log = log;
  }

  inviteRequested({ guildId, chatId }: MemberName, outcome: InviteOutcome): void {
    this.#invites.inc({ outcome });
    this.#log.info({ guild_id: guildId, chat_id: chatId, outcome }, 'invite of a linked account requested');
  }
}
