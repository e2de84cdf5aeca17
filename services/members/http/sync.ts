import type { HttpHandlers } from '#kit/http.ts';
import type { syncRoutes } from '#proto/rest/sync.ts';
import type { Nicknames } from '../domain/nicknames.ts';

/** The routes of proto/rest/sync.ts. */
export function syncHandlers(nicknames: Nicknames): HttpHandlers<typeof syncRoutes> {
  return {
    syncNickname: ({ write, body }) => {
      const { chat_id: chatId, nickname, template, game_group_id: gameGroupId } = body;
      return nicknames.sync(write, { chatId, nickname, template, gameGroupId });
    },
  };
}
