import { getLinkByChatId } from '#clients/typescript/src/operations.ts';
import { ApiError } from '../../api/errors.ts';
import type { Rest } from '../../api/rest.ts';
import { isChatId } from '../people/accounts.ts';

export interface Moderator {
  moderator_chat_id?: string;
  moderator_game_id?: number;
}

const known = new Map<string, Promise<Moderator>>();

/**
 * Who a decision is recorded for: the accounts of the person who is signed in, so that the log can be filtered by them.
 * Somebody who signed in without a chat account is only in the audit.
 */
export function moderatorOf(rest: Rest, personId: string): Promise<Moderator> {
  if (!isChatId(personId)) return Promise.resolve({});
  const key = `${rest.guildId} ${personId}`;
  const moderator = known.get(key) ?? loadModerator(rest, personId);
  known.set(key, moderator);
  return moderator;
}

async function loadModerator(rest: Rest, chatId: string): Promise<Moderator> {
  try {
    const { game_id } = await getLinkByChatId(rest, { chatId });
    return { moderator_chat_id: chatId, moderator_game_id: game_id };
  } catch (error) {
    // Only "not linked" is remembered; after another error the next decision asks again.
    if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) known.delete(`${rest.guildId} ${chatId}`);
    return { moderator_chat_id: chatId };
  }
}
