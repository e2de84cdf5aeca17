import { z } from 'zod';
import type { ChatStanding } from '../chat.ts';
import { snowflake } from './members.ts';
import {
  CREATE_INSTANT_INVITE,
  hasPermission,
  MANAGE_NICKNAMES,
  MANAGE_ROLES,
  MODERATE_MEMBERS,
  permissions,
} from './permissions.ts';

export const guildSchema = z.object({
  owner_id: snowflake.nullish(),
  roles: z.array(z.object({ id: snowflake, permissions })),
});

/** Returns the guild's owner, and what the bot may do there according to all its roles. */
export function toChatStanding(
  guildId: string,
  { owner_id, roles }: z.output<typeof guildSchema>,
  bot: { id: string; roles: readonly string[] },
): ChatStanding {
  const isOwner = owner_id === bot.id;
  const may = (permission: bigint) => isOwner || hasPermission(guildId, roles, bot.roles, permission);
  return {
    ownerId: owner_id ?? null,
    managesNicknames: may(MANAGE_NICKNAMES),
    managesRoles: may(MANAGE_ROLES),
    timesOutMembers: may(MODERATE_MEMBERS),
    createsInvites: may(CREATE_INSTANT_INVITE),
  };
}
