import type { Link } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { Change } from './store/intents.ts';

/** A link as keys see it. */
export function linkView({ chatId, gameId, gameUsername }: Link) {
  return { chat_id: chatId, game_id: gameId, game_username: gameUsername, verified: true };
}

function unlinkView({ chatId, gameId }: Link) {
  return { unlinked: true as const, chat_id: chatId, game_id: gameId };
}

/** What is answered to a change that was done. */
export const changeViews = { redeem: linkView, link: linkView, unlink: unlinkView } satisfies Record<
  Change['kind'],
  (link: Link) => object
>;
