import { asApiError, isServerError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { findSettings } from '../store/guild-settings.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import type { Nicknames } from './nicknames.ts';
import type { BindingNickname, FollowedMember } from './role-sync.ts';

export interface AutomaticNicknamesOptions {
  database: Queryable;
  nicknames: Pick<Nicknames, 'apply'>;
  telemetry: MembersTelemetry;
}

/** Sets the nicknames of members whose roles were synchronised in the background, as the guild's settings say. */
export class AutomaticNicknames {
  readonly #options: AutomaticNicknamesOptions;

  constructor(options: AutomaticNicknamesOptions) {
    this.#options = options;
  }

  /**
   * Sets the nickname of a member if a binding that matches has a template, or else the guild. Throws a fault such as UNAVAILABLE if this has to be
   * retried. A nickname that the bot cannot set is only logged, because the member's roles are right without it.
   */
  async follow(guildId: string, { link, member, nickname }: FollowedMember): Promise<void> {
    const { nicknames, telemetry } = this.#options;
    const wanted = nickname ?? (await this.#ofGuild(guildId));
    if (!wanted) return;
    try {
      await nicknames.apply(guildId, member, link, wanted);
    } catch (thrown) {
      const error = asApiError(thrown);
      if (isServerError(error)) throw error;
      telemetry.nicknameNotSet({ guildId, chatId: member.chatId }, error);
    }
  }

  async #ofGuild(guildId: string): Promise<BindingNickname | undefined> {
    const { nicknameTemplate: template } = await findSettings(this.#options.database, guildId);
    return template === undefined ? undefined : { template, gameGroupId: undefined };
  }
}
