import { z } from 'zod';
import type { ChatStanding } from '../chat.ts';
import { snowflake } from './members.ts';
import { hasPermission, MANAGE_NICKNAMES, permissions } from './permissions.ts';

export const guildAnswer = z.object({
  owner_id: snowflake.nullish(),
  roles: z.array(z.object({ id: snowflake, permissions })),
});

/** What the bot's roles and @everyone, whose ID is the guild's, let it do together. */
export function viewStanding(
  guildId: string,
  { owner_id, roles }: z.output<typeof guildAnswer>,
  bot: { id: string; roles: readonly string[] },
): ChatStanding {
  const isOwner = owner_id === bot.id;
  const managesNicknames = isOwner || hasPermission(guildId, roles, bot.roles, MANAGE_NICKNAMES);
  return { ownerId: owner_id ?? null, managesNicknames };
}
