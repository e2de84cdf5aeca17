import type { ChatRole } from '#platforms/chat.ts';
import type { Link, Unlinked } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { LinkedMember } from '../domain/members.ts';
import type { Change } from '../store/intents.ts';

/** A link as keys see it. */
export function linkView({ chatId, gameId, gameUsername }: Link) {
  return { chat_id: chatId, game_id: gameId, game_username: gameUsername, verified: true };
}

function unlinkView({ chatId, gameId }: Link) {
  return { unlinked: true as const, chat_id: chatId, game_id: gameId };
}

/** A link that is gone, as keys see it. */
export function unlinkedView({ chatId, gameId, unlinkedAt }: Unlinked) {
  return { chat_id: chatId, game_id: gameId, unlinked_at: unlinkedAt };
}

/** What is answered to a change that was done. */
export const changeViews = { redeem: linkView, link: linkView, unlink: unlinkView } satisfies Record<
  Change['kind'],
  (link: Link) => object
>;

/** A member as keys see it. */
export function memberView({ member, link }: LinkedMember) {
  return {
    chat_id: member.chatId,
    username: member.username,
    nickname: member.nickname,
    roles: member.roles,
    joined_at: member.joinedAt,
    verified: link !== undefined,
    game_id: link?.gameId ?? null,
    game_username: link?.gameUsername ?? null,
  };
}

/** A role as keys see it. */
export function roleView({ id, name, position, color, managed, assignable }: ChatRole) {
  return { id, name, position, color, managed, assignable };
}
