import type { ChatJoin, ChatJoinRequest } from '../chat.ts';
import type { PlatformResponse } from '../http/host.ts';
import type { DiscordCall } from './api.ts';
import { CODES, codeOf, isForbidden } from './errors.ts';

/** Returns the call that adds an account to a guild. */
export function joinCall({
  guildId,
  accessToken,
  roleIds,
  nickname,
  reason,
  beforeCall,
}: ChatJoinRequest): DiscordCall {
  return {
    method: 'PUT',
    guildId,
    body: { access_token: accessToken, roles: roleIds, ...(nickname !== undefined && { nick: nickname }) },
    limit: `joins of ${guildId}`,
    reason,
    ...(beforeCall && { beforeCall }),
  };
}

/** Returns the outcome of adding an account; undefined if the platform's response makes no sense. */
export function joinOutcome(response: PlatformResponse): ChatJoin | undefined {
  if (response.status === 201) return 'joined';
  if (response.status === 204) return 'is member';
  switch (codeOf(response)) {
    case CODES.invalidToken:
      return 'not allowed by the person';
    case CODES.userBanned:
      return 'banned';
    case CODES.tooManyGuilds:
      return 'too many guilds';
    case CODES.unknownRole:
    case CODES.invalidRole:
      return 'no such role';
    default:
      return isForbidden(response) ? 'not permitted' : undefined;
  }
}
