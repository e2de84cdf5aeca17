import { z } from 'zod';
import type { ChatChange, ChatMember } from '../chat.ts';
import type { PlatformResponse } from '../http/host.ts';
import { CODES, codeOf, isForbidden } from './errors.ts';

export const snowflake = z.string().regex(/^[0-9]{1,20}$/);

export const memberSchema = z.object({
  user: z.object({ id: snowflake, username: z.string() }),
  nick: z.string().nullish(),
  roles: z.array(snowflake),
  joined_at: z.iso.datetime({ offset: true }).nullish(),
  communication_disabled_until: z.iso.datetime({ offset: true }).nullish(),
});

export function toChatMember({ user, nick, roles, ...times }: z.output<typeof memberSchema>): ChatMember {
  const { joined_at: joined, communication_disabled_until: timeout } = times;
  const joinedAt = joined ? Math.floor(Date.parse(joined) / 1000) : null;
  // The platform reports a timeout that has ended until the member is changed again.
  const timeoutUntil = timeout ? new Date(timeout) : null;
  return { chatId: user.id, username: user.username, nickname: nick ?? null, roles, joinedAt, timeoutUntil };
}

/** True if the chat platform says that no member of the guild has this ID. */
export function isNoMember(response: PlatformResponse): boolean {
  const code = codeOf(response);
  return response.status === 404 && (code === CODES.unknownMember || code === CODES.unknownUser);
}

/** Returns the outcome of changing a member; undefined if the platform's response makes no sense. */
export function changeOutcome(response: PlatformResponse): ChatChange | undefined {
  if (response.status === 200 || response.status === 204) return 'done';
  if (isNoMember(response)) return 'no such member';
  if (isForbidden(response)) return 'not permitted';
  const code = codeOf(response);
  return code === CODES.unknownRole || code === CODES.invalidRole ? 'no such role' : undefined;
}
