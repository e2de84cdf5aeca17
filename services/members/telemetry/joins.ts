import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { ChatJoin } from '#platforms/chat.ts';
import type { MemberName } from '../store/roles.ts';

/** `member`: the account is in the guild already; `repeated`: the invite of a moment ago was returned again. */
export type InviteOutcome = 'created' | 'repeated' | 'member' | 'rejected';

/**
 * The metrics and log lines about linked accounts that are brought into guilds. Addresses of invites and tokens are never
 * logged.
 */
export class JoinTelemetry {
  readonly #invites;
  readonly #joins;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#invites = metrics.counterOf(
      'members_role_invites_total',
      'Requested invites of linked accounts, by outcome: created, repeated within a minute, member (no invite needed), or rejected by the chat platform',
      'outcome',
      ['created', 'repeated', 'member', 'rejected'],
    );
    this.#joins = metrics.counterOf(
      'members_oauth_joins_total',
      "Persons who let the bot's application add their linked account to a guild, by outcome: joined, member (was in the guild already), or rejected by the chat platform",
      'outcome',
      ['joined', 'member', 'rejected'],
    );
    this.#log = log;
  }

  inviteRequested({ guildId, chatId }: MemberName, outcome: InviteOutcome): void {
    this.#invites.inc({ outcome });
    this.#log.info({ guild_id: guildId, chat_id: chatId, outcome }, 'invite of a linked account requested');
  }

  joinFinished({ guildId, chatId }: MemberName, join: ChatJoin): void {
    const outcome = join === 'is member' ? 'member' : join === 'joined' ? 'joined' : 'rejected';
    this.#joins.inc({ outcome });
    const names = { guild_id: guildId, chat_id: chatId };
    if (outcome === 'joined') this.#log.info(names, 'linked account was added to the guild, as its person allowed');
    else if (outcome === 'member') this.#log.info(names, 'linked account was not added, it is a member already');
    else this.#log.info({ ...names, rejection: join }, 'linked account was not added to the guild');
  }
}
