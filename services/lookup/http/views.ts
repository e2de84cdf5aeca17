import type { Link } from '../store/links.ts';

/** Converts a link between accounts to its form in REST responses. */
export function linkView({ chatId, gameId, gameUsername }: Link) {
  return { chat_id: chatId, game_id: gameId, game_username: gameUsername, verified: true };
}
