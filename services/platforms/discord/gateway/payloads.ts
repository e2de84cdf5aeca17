import { z } from 'zod';
import type { ChatMember } from '../../chat.ts';
import { memberSchema, snowflake, toChatMember } from '../members.ts';

const url = z.url({ protocol: /^wss?$/ });

export const readySchema = z.object({
  session_id: z.string().min(1),
  resume_gateway_url: url,
  user: z.object({ id: snowflake }),
});

/** What is stored of a role; other fields of the platform are left out. */
const roleSchema = z.object({
  id: snowflake,
  name: z.string(),
  position: z.int(),
  managed: z.boolean(),
  permissions: z.string().regex(/^[0-9]{1,30}$/),
  color: z.int().optional(),
  colors: z.object({ primary_color: z.int() }).optional(),
});

export const createdGuildSchema = z.object({
  id: snowflake,
  owner_id: snowflake.nullish(),
  roles: z.array(roleSchema),
  /** The bot, and in small guilds others. */
  members: z.array(z.object({ user: z.object({ id: snowflake }), roles: z.array(snowflake) })),
});

export const changedGuildSchema = z.object({
  id: snowflake,
  owner_id: snowflake.nullish(),
  roles: z.array(roleSchema),
});

/** Without `unavailable` the bot has left the guild; with it the platform has an outage. */
export const removedGuildSchema = z.object({ id: snowflake, unavailable: z.boolean().optional() });

export const storedRoleSchema = z.object({ guild_id: snowflake, role: roleSchema });

export const deletedRoleSchema = z.object({ guild_id: snowflake, role_id: snowflake });

export const changedMemberSchema = memberSchema.extend({ guild_id: snowflake });

export const removedMemberSchema = z.object({ guild_id: snowflake, user: z.object({ id: snowflake }) });

/** Returns the member that GUILD_MEMBER_ADD or GUILD_MEMBER_UPDATE reports. */
export function toMember({ guild_id: guildId, ...member }: z.output<typeof changedMemberSchema>): {
  guildId: string;
  member: ChatMember;
} {
  return { guildId, member: toChatMember(member) };
}

/** Returns the guild that an event is about, even if the rest of the event cannot be read. */
export function guildOf(data: unknown): string | undefined {
  const found = z.object({ guild_id: snowflake.optional(), id: snowflake.optional() }).safeParse(data).data;
  return found?.guild_id ?? found?.id;
}
