import { failed, type GuildCheck, passed } from '#kit/guild-state/check.ts';
import { within } from '#kit/resilience/deadline.ts';
import { BotNotInGuild, type ChatPlatform } from '#platforms/chat.ts';
import { CHECK_WAIT_MS, outageCheck } from '#platforms/outage-check.ts';
import type { PlatformChecks } from './platform-checks.ts';

/** Checks whether the bot is in a guild, and what it may do there. */
export class GuildState {
  readonly #chat: Pick<ChatPlatform, 'standing'>;
  readonly #platforms: Pick<PlatformChecks, 'ofChat' | 'ofGame'>;

  constructor(chat: Pick<ChatPlatform, 'standing'>, platforms: Pick<PlatformChecks, 'ofChat' | 'ofGame'>) {
    this.#chat = chat;
    this.#platforms = platforms;
  }

  checks = async (guildId: string): Promise<GuildCheck[]> => {
    const checks = await Promise.all([this.#chatChecks(guildId), this.#platforms.ofGame(guildId)]);
    return checks.flat();
  };

  async #chatChecks(guildId: string): Promise<GuildCheck[]> {
    try {
      const fresh = this.#chat.standing(guildId, { fresh: true });
      const [standing, ofPlatform] = await Promise.all([within(CHECK_WAIT_MS, fresh), this.#platforms.ofChat(guildId)]);
      return [
        passed('bot_in_guild', 'The bot is a member of the guild.'),
        permissionCheck('bot_manages_roles', 'Manage Roles', standing.managesRoles),
        permissionCheck('bot_manages_nicknames', 'Manage Nicknames', standing.managesNicknames),
        ...ofPlatform,
      ];
    } catch (error) {
      if (!(error instanceof BotNotInGuild)) return [outageCheck('chat_platform', error)];
      const fix = 'Invite the bot to the guild, with the permissions Manage Roles and Manage Nicknames.';
      return [failed('bot_in_guild', 'The bot is not a member of the guild, or may not read it.', fix)];
    }
  }
}

function permissionCheck(
  name: 'bot_manages_roles' | 'bot_manages_nicknames',
  permission: string,
  isGranted: boolean,
): GuildCheck {
  if (isGranted) return passed(name, `The bot has the permission ${permission}.`);
  return failed(
    name,
    `The bot does not have the permission ${permission}.`,
    `In the settings of the guild, under Roles, switch on ${permission} for the role of the bot.`,
  );
}
