import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import type { lookupRoutes } from '#proto/rest/lookup.ts';
import type { CachedLinks } from '../domain/cached-links.ts';
import type { Account } from '../store/links.ts';
import { linkView } from './views.ts';

/** Returns the handlers of the REST routes in proto/rest/lookup.ts. */
export function lookupHandlers(links: CachedLinks): HttpHandlers<typeof lookupRoutes> {
  return {
    getLinkByChatId: async ({ guildId, params }) => ok(linkView(await links.get(guildId, params))),
    getLinkByGameId: async ({ guildId, params }) => ok(linkView(await links.get(guildId, params))),
    async getLinkStatuses({ guildId, body }) {
      const { chat_ids: chatIds, game_ids: gameIds } = body;
      const found = await links.find({ guildId, chatIds, gameIds });
      const byId = new Map(found.map((link) => [gameIds ? link.gameId : link.chatId, linkView(link)]));
      return ok({ results: Object.fromEntries((gameIds ?? chatIds ?? []).map((id) => [id, byId.get(id) ?? null])) });
    },
    reverseLookup: async ({ guildId, body }) => ok(linkView(await links.get(guildId, accountOf(body)))),
  };
}

/** Returns the account in a request body. The schema ensures that exactly one of chat_id and game_id is set. */
function accountOf({ chat_id: chatId, game_id: gameId }: { chat_id?: string; game_id?: number }): Account {
  return chatId === undefined ? { gameId: gameId as number } : { chatId };
}
