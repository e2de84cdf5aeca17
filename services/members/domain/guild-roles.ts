import type { ChatPlatform, ChatRole } from '#platforms/chat.ts';

/** Returns the guild's roles from the cache, or reads them again if the cache lacks one of `roleIds`. */
export async function guildRolesWith(
  chat: ChatPlatform,
  guildId: string,
  roleIds: readonly string[],
): Promise<ChatRole[]> {
  const cached = await chat.roles(guildId);
  const known = new Set(cached.map(({ id }) => id));
  return roleIds.every((id) => known.has(id)) ? cached : chat.roles(guildId, { fresh: true });
}
