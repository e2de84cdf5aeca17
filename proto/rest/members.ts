import { z } from 'zod';
import { linkRecord } from './lookup.ts';
import { defineRoutes, route } from './route.ts';
import {
  chatId,
  exactlyOneOf,
  gameId,
  gameIdOut,
  guildId,
  nextCursor,
  optional,
  page,
  text,
  timestamp,
  timestampQuery,
} from './schemas.ts';

const gameUsername = text(1, 50).meta({ description: 'The name in the game', example: 'AdaBuilds' });

const guild = '900000000000000001';
const dmitri = { chat_id: '920000000000000004', game_id: 7004, game_username: 'Dmitri_2026', verified: true };
const esther = { chat_id: '920000000000000005', game_id: 7005, game_username: 'EstherRows', verified: true };
const tokenExample = 'Zk3TqX9wVb1LrN7yHc5MfD2pGs8JaE4u';

/** That an account was unlinked. */
const unlinked = z
  .object({ chat_id: chatId.meta({ example: dmitri.chat_id }), game_id: gameIdOut, unlinked_at: timestamp })
  .meta({ id: 'Unlinked', description: 'A link that was removed' });

const linkTaken = { CONFLICT: 'One of the two accounts is linked in this guild already' };

export const membersRoutes = defineRoutes('members', {
  listVerified: route({
    method: 'GET',
    path: '/guilds/:guildId/verified',
    scope: 'members:read',
    category: 'members_read',
    guild: 'path',
    params: z.object({ guildId }),
    query: z.object({
      ...page,
      updated_since: timestampQuery
        .optional()
        .meta({ description: 'Only changes since: the `server_time` of an earlier response; adds `unlinked`' }),
    }),
    data: z.object({
      users: z.array(linkRecord),
      unlinked: z
        .array(unlinked)
        .optional()
        .meta({ description: 'Who was unlinked since `updated_since`; only where that was given' }),
      server_time: timestamp.meta({
        description: 'For `updated_since` of the next request. A change may be listed twice, and none is missed',
      }),
      next_cursor: nextCursor,
    }),
    status: 200,
    message: 'Verified users listed',
    summary: 'Everybody who is verified in the guild, page by page',
    description:
      'With `updated_since`: who was linked and who was unlinked since, on the same pages, in the order of the changes. Each of `unlinked` removes exactly that pair: either account may be linked to another one by now.',
    writes: false,
  }),
  getLinks: route({
    method: 'GET',
    path: '/guilds/:guildId/links/:chatId',
    scope: 'members:read',
    category: 'members_read',
    guild: 'path',
    params: z.object({ guildId, chatId }),
    data: z.object({
      link: linkRecord.nullable().meta({ description: 'null when the account is not linked now' }),
      history: z.array(
        z.object({
          action: z.enum(['linked', 'unlinked']).meta({ description: 'What happened' }),
          chat_id: chatId,
          game_id: gameIdOut,
          game_username: z.string().meta({ description: 'The name in the game', example: 'AdaBuilds' }),
          created_at: timestamp,
        }),
      ),
    }),
    status: 200,
    message: 'Links listed',
    summary: "A chat account's link now, and its newest 100 changes, newest first",
    writes: false,
  }),
  createToken: route({
    method: 'POST',
    path: '/verification/tokens',
    scope: 'verify:write',
    category: 'verify_write',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      chat_id: chatId.meta({ example: esther.chat_id }),
      ttl_seconds: optional(
        z
          .int({ error: 'must be a whole number of seconds' })
          .min(60, { error: 'must be at least 60' })
          .max(1800, { error: 'must be at most 1800' }),
      ).meta({ description: 'How long the token works; 900 when left out' }),
    }),
    data: z.object({
      token: z.string().meta({ description: 'For links; shown this once', example: tokenExample }),
      code: z
        .string()
        .meta({ description: 'Eight characters for a person to type; shown this once', example: 'H7KM4PRX' }),
      expires_at: timestamp,
    }),
    status: 201,
    message: 'Verification token created',
    summary: 'A token and a code with which a player proves to own a game account',
    writes: true,
    errors: { CONFLICT: 'The chat account is linked in this guild already' },
  }),
  getToken: route({
    method: 'GET',
    path: '/verification/tokens/:token',
    scope: 'verify:write',
    category: 'members_read',
    guild: 'header',
    params: z.object({
      token: text(1, 128).meta({
        description: 'The `token` that was answered when it was made',
        example: tokenExample,
      }),
    }),
    data: z.object({
      status: z
        .enum(['pending', 'completed', 'expired'])
        .meta({ description: 'Whether it was redeemed', example: 'completed' }),
      chat_id: chatId.meta({ example: esther.chat_id }),
      game_id: gameIdOut.nullable().meta({ description: 'Who redeemed it; null before', example: esther.game_id }),
      expires_at: timestamp,
    }),
    status: 200,
    message: 'Verification token found',
    summary: 'Whether a token was redeemed, and by whom',
    writes: false,
    errors: { NOT_FOUND: 'No such token in this guild' },
  }),
  redeemToken: route({
    method: 'POST',
    path: '/verification/redeem',
    scope: 'verify:write',
    category: 'verify_write',
    guild: 'body',
    body: z
      .object({
        guild_id: guildId,
        code: optional(text(1, 64)).meta({
          description: 'As the player typed it: capitals or not, with or without dashes and spaces',
          example: 'H7KM4PRX',
        }),
        token: optional(text(1, 128)).meta({
          description: 'What came with a link, in place of `code`',
          example: tokenExample,
        }),
        game_id: gameId.meta({ example: esther.game_id }),
        game_username: gameUsername.meta({ example: esther.game_username }),
      })
      .refine(...exactlyOneOf('code', 'token')),
    data: linkRecord.meta({ example: esther }),
    status: 200,
    message: 'Account verified',
    summary: 'Completes a verification; called by the game server, where the player is known',
    writes: true,
    errors: { NOT_FOUND: 'The code is wrong, used or expired', ...linkTaken },
  }),
  createLink: route({
    method: 'POST',
    path: '/verification/link',
    scope: 'verify:write',
    category: 'verify_write',
    guild: 'body',
    body: z
      .object({
        guild_id: guildId,
        chat_id: chatId,
        game_id: gameId,
        game_username: optional(gameUsername).meta({ description: 'Asked of the game platform when left out' }),
      })
      .meta({ example: { guild_id: guild, chat_id: dmitri.chat_id, game_id: dmitri.game_id } }),
    data: linkRecord.meta({ example: dmitri }),
    status: 201,
    message: 'Accounts linked',
    summary: 'Links two accounts without a code',
    writes: true,
    errors: {
      INVALID_TARGET: 'The game platform knows no such user',
      PLATFORM_ERROR: 'The game platform refused or gave no readable answer',
      ...linkTaken,
    },
  }),
  deleteLink: route({
    method: 'POST',
    path: '/verification/unlink',
    scope: 'verify:write',
    category: 'verify_write',
    guild: 'body',
    body: z
      .object({ guild_id: guildId, chat_id: optional(chatId), game_id: optional(gameId) })
      .refine(...exactlyOneOf('chat_id', 'game_id'))
      .meta({ example: { guild_id: guild, chat_id: dmitri.chat_id } }),
    data: z.object({
      unlinked: z.literal(true).meta({ description: 'Always true' }),
      chat_id: chatId.meta({ example: dmitri.chat_id }),
      game_id: gameIdOut.meta({ example: dmitri.game_id }),
    }),
    status: 200,
    message: 'Accounts unlinked',
    summary: 'Takes a link away, and the roles that bindings gave',
    description: 'Roles that can not be taken back within three seconds are taken back later.',
    writes: true,
    errors: { NOT_FOUND: 'The user is not linked in this guild' },
  }),
});
