import { z } from 'zod';
import type { ChatStanding } from '../chat.ts';
import { snowflake } from './members.ts';

const permissions = z
  .string()
  .regex(/^[0-9]{1,30}$/)
  .transform(BigInt);

export const guildAnswer = z.object({
  owner_id: snowflake.nullish(),
  roles: z.array(z.object({ id: snowflake, permissions })),
});

const ADMINISTRATOR = 1n << 3n;
const MANAGE_NICKNAMES = 1n << 27n;

/** What the bot's roles and @everyone, whose ID is the guild's, let it do together. */
export function viewStanding(
  guildId: string,
  { owner_id, roles }: z.output<typeof guildAnswer>,
  bot: { id: string; roles: readonly string[] },
): ChatStanding {
  const own = roles.filter(({ id }) => id === guildId || bot.roles.includes(id));
  const granted = own.reduce((sum, role) => sum | role.permissions, 0n);
  const isOwner = owner_id === bot.id;
  const managesNicknames = isOwner || (granted & (ADMINISTRATOR | MANAGE_NICKNAMES)) !== 0n;
  return { ownerId: owner_id ?? null, managesNicknames };
}
