import { asApiError, isServerError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { findSettings } from '../store/guild-settings.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import type { Nicknames } from './nicknames.ts';
import type { FollowedMember } from './role-sync.ts';

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
   * Sets the nickname of a member if the guild has a template. Throws a fault such as UNAVAILABLE if this has to be
   * retried. A nickname that the bot cannot set is only logged, because the member's roles are right without it.
   */
  async follow(guildId: string, { link, member }: FollowedMember): Promise<void> {
    const { database, nicknames, telemetry } = this.#options;
    const { nicknameTemplate } = await findSettings(database, guildId);
    if (nicknameTemplate === undefined) return;
    try {
      await nicknames.apply(guildId, member, link, nicknameTemplate);
    } catch (thrown) {
      const error = asApiError(thrown);
      if (isServerError(error)) throw error;
      telemetry.nicknameNotSet({ guildId, chatId: member.chatId }, error);
    }
  }
}
