import { z } from 'zod';
import { defineRoutes, route } from './route.ts';
import { accountInGuild, batch, chatId, exactlyOneOf, gameId, gameIdOut, guildId, optional } from './schemas.ts';

/** The link of a chat account to a game account. Responses have exactly these fields. */
export const linkRecord = z
  .object({
    chat_id: chatId,
    game_id: gameIdOut,
    game_username: z.string().meta({ description: 'Username in the game', example: 'AdaBuilds' }),
    verified: z.boolean().meta({ description: 'Always true in a returned record' }),
  })
  .meta({
    id: 'LinkRecord',
    description: 'The link between two accounts. May be found for half a second after its removal',
  });

const notVerified = { NOT_FOUND: 'The user is not verified in this guild' };

export const lookupRoutes = defineRoutes('lookup', {
  getLinkByChatId: route({
    method: 'GET',
    path: '/lookup/chat/:chatId',
    scope: 'lookup:read',
    category: 'lookup',
    guild: 'header',
    params: z.object({ chatId }),
    data: linkRecord,
    status: 200,
    message: 'User found',
    summary: 'Look up the game account of a chat account',
    writes: false,
    errors: notVerified,
  }),
  getLinkByGameId: route({
    method: 'GET',
    path: '/lookup/game/:gameId',
    scope: 'lookup:read',
    category: 'lookup',
    guild: 'header',
    params: z.object({ gameId }),
    data: linkRecord,
    status: 200,
    message: 'User found',
    summary: 'Look up the chat account of a game account',
    writes: false,
    errors: notVerified,
  }),
  getLinkStatuses: route({
    method: 'POST',
    path: '/lookup/status',
    scope: 'lookup:read',
    category: 'lookup',
    guild: 'body',
    body: z
      .object({ guild_id: guildId, chat_ids: optional(batch(chatId)), game_ids: optional(batch(gameId)) })
      .refine(...exactlyOneOf('chat_ids', 'game_ids'))
      .meta({ example: { guild_id: '900000000000000001', game_ids: [7001, 7004] } }),
    data: z.object({
      results: z.record(z.string(), linkRecord.nullable()).meta({
        description: 'Links by requested ID; null if the user is not verified in the guild',
        example: {
          '7001': { chat_id: '920000000000000001', game_id: 7001, game_username: 'AdaBuilds', verified: true },
          '7004': null,
        },
      }),
    }),
    status: 200,
    message: 'Users looked up',
    summary: 'Look up the links of up to 25 users',
    writes: false,
  }),
  reverseLookup: route({
    method: 'POST',
    path: '/reverse',
    scope: 'lookup:read',
    category: 'lookup',
    guild: 'body',
    body: accountInGuild,
    data: linkRecord,
    status: 200,
    message: 'User found',
    summary: 'Look up a link by chat or game account',
    writes: false,
    errors: notVerified,
  }),
});
