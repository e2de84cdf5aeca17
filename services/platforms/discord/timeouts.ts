import type { DiscordCall } from './api.ts';

/** Returns the call that times a member out until a time, or ends the timeout (null). It needs MODERATE_MEMBERS. */
export function timeoutCall(guildId: string, chatId: string, until: Date | null): Omit<DiscordCall, 'guildId'> {
  return {
    method: 'PATCH',
    body: { communication_disabled_until: until?.toISOString() ?? null },
    limit: `nicknames of ${guildId}`,
    rejectionKey: `timeout of ${chatId} in ${guildId}`,
  };
}
