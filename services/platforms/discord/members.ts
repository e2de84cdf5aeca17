import { z } from 'zod';
import type { ChatChange, ChatMember } from '../chat.ts';
import type { PlatformAnswer } from '../http/host.ts';
import { CODES, codeOf, isForbidden } from './api.ts';

export const snowflake = z.string().regex(/^[0-9]{1,20}$/);

export const memberAnswer = z.object({
  user: z.object({ id: snowflake, username: z.string() }),
  nick: z.string().nullish(),
  roles: z.array(snowflake),
  joined_at: z.iso.datetime({ offset: true }).nullish(),
});

export function viewMember({ user, nick, roles, joined_at }: z.output<typeof memberAnswer>): ChatMember {
  const joinedAt = joined_at ? Math.floor(Date.parse(joined_at) / 1000) : null;
  return { chatId: user.id, username: user.username, nickname: nick ?? null, roles, joinedAt };
}

/** Whether the platform says that nobody of this ID is in the guild. */
export function isNoMember(answer: PlatformAnswer): boolean {
  const code = codeOf(answer);
  return answer.status === 404 && (code === CODES.unknownMember || code === CODES.unknownUser);
}

/** What an answer to a change says; undefined where it makes no sense. */
export function readChange(answer: PlatformAnswer): ChatChange | undefined {
  if (answer.status === 200 || answer.status === 204) return 'done';
  if (isNoMember(answer)) return 'no such member';
  if (isForbidden(answer)) return 'not permitted';
  const code = codeOf(answer);
  return code === CODES.unknownRole || code === CODES.invalidRole ? 'no such role' : undefined;
}
