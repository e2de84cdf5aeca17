import { z } from 'zod';
import { linkRecord } from './lookup.ts';
import { defineRoutes, PLATFORM_FAILED, route } from './route.ts';
import {
  accountInGuild,
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

const gameUsername = text(1, 50).meta({ description: 'Username in the game', example: 'AdaBuilds' });

const guild = '900000000000000001';
const dmitri = { chat_id: '920000000000000004', game_id: 7004, game_username: 'Dmitri_2026', verified: true };
const esther = { chat_id: '920000000000000005', game_id: 7005, game_username: 'EstherRows', verified: true };
const tokenExample = 'Zk3TqX9wVb1LrN7yHc5MfD2pGs8JaE4u';

export const unlinked = z
  .object({ chat_id: chatId.meta({ example: dmitri.chat_id }), game_id: gameIdOut, unlinked_at: timestamp })
  .meta({ id: 'Unlinked', description: 'A removed link' });

const linkTaken = { CONFLICT: 'One of the two accounts is linked in this guild already' };

export const membersRoutes = defineRoutes('members', {
  listVerified: route({
    operationId: 'listVerifiedUsers',
    method: 'GET',
    path: '/guilds/:guildId/verified',
    scope: 'members:read',
    category: 'members_read',
    guild: 'path',
    params: z.object({ guildId }),
    query: z.object({
      ...page,
      updated_since: timestampQuery.optional().meta({
        description: 'Only changes since this time, and adds `unlinked`. Pass the `server_time` of an earlier response',
      }),
    }),
    data: z.object({
      users: z.array(linkRecord),
      unlinked: z
        .array(unlinked)
        .optional()
        .meta({ description: 'Links removed since `updated_since`, if that was given' }),
      server_time: timestamp.meta({
        id: 'ServerTime',
        description:
          'Pass it as `updated_since` of the next request. No change is missed, but a change may be returned twice',
      }),
      next_cursor: nextCursor,
    }),
    status: 200,
    message: 'Verified users listed',
    summary: 'List verified users',
    description:
      'With `updated_since`, the pages hold the users who were linked (`users`) and unlinked (`unlinked`) since then, in order. An entry of `unlinked` removes exactly that pair: each account may have a new link by now.',
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
      link: linkRecord.nullable().meta({ description: 'The current link; null if the account is not linked' }),
      history: z.array(
        z.object({
          action: z.enum(['linked', 'unlinked']).meta({ id: 'LinkAction', description: 'The kind of change' }),
          chat_id: chatId,
          game_id: gameIdOut,
          game_username: z.string().meta({ description: 'Username in the game', example: 'AdaBuilds' }),
          created_at: timestamp,
        }),
      ),
    }),
    status: 200,
    message: 'Links listed',
    summary: "Get a chat account's link and link history",
    description: 'The history has the newest 100 changes, newest first.',
    writes: false,
  }),
  createToken: route({
    operationId: 'createVerificationToken',
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
      ).meta({ description: 'Lifetime of the token in seconds; 900 if omitted' }),
    }),
    data: z.object({
      token: z.string().meta({ description: 'Token for use in a link; returned only once', example: tokenExample }),
      code: z.string().meta({
        description: 'Code of eight characters for a player to type; returned only once',
        example: 'H7KM4PRX',
      }),
      expires_at: timestamp,
    }),
    status: 201,
    message: 'Verification token created',
    summary: 'Create a verification token',
    description:
      'The player enters the code in the game, or follows a link with the token, to prove who owns the game account.',
    writes: true,
    errors: { CONFLICT: 'The chat account is linked in this guild already' },
  }),
  getToken: route({
    operationId: 'getVerificationToken',
    method: 'GET',
    path: '/verification/tokens/:token',
    scope: 'verify:write',
    category: 'members_read',
    guild: 'header',
    params: z.object({
      token: text(1, 128).meta({
        description: 'The `token` that was returned when it was created',
        example: tokenExample,
      }),
    }),
    data: z.object({
      status: z.enum(['pending', 'completed', 'expired']).meta({
        id: 'TokenStatus',
        description: 'Status of the token: `completed` if it was redeemed',
        example: 'completed',
      }),
      chat_id: chatId.meta({ example: esther.chat_id }),
      game_id: gameIdOut.nullable().meta({
        description: 'Game account that redeemed the token; null if it was not redeemed',
        example: esther.game_id,
      }),
      expires_at: timestamp,
    }),
    status: 200,
    message: 'Verification token found',
    summary: 'Get the status of a verification token',
    writes: false,
    errors: { NOT_FOUND: 'No such token in this guild' },
  }),
  redeemToken: route({
    operationId: 'redeemVerificationToken',
    method: 'POST',
    path: '/verification/redeem',
    scope: 'verify:write',
    category: 'verify_write',
    guild: 'body',
    body: z
      .object({
        guild_id: guildId,
        code: optional(text(1, 64)).meta({
          description: 'Code as typed by the player. Case, dashes and spaces are ignored',
          example: 'H7KM4PRX',
        }),
        token: optional(text(1, 128)).meta({
          description: 'Token from a link, instead of `code`',
          example: tokenExample,
        }),
        game_id: gameId.meta({ example: esther.game_id }),
        game_username: gameUsername.meta({ example: esther.game_username }),
      })
      .refine(...exactlyOneOf('code', 'token')),
    data: linkRecord.meta({ example: esther }),
    status: 200,
    message: 'Account verified',
    summary: 'Redeem a verification code or token',
    description: 'Call it from the game server, which knows the game account of the player.',
    writes: true,
    errors: { NOT_FOUND: 'The code is wrong, used or expired', ...linkTaken },
  }),
  createLink: route({
    operationId: 'linkAccount',
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
        game_username: optional(gameUsername).meta({
          description: 'Username in the game; requested from the game platform if omitted',
        }),
      })
      .meta({ example: { guild_id: guild, chat_id: dmitri.chat_id, game_id: dmitri.game_id } }),
    data: linkRecord.meta({ example: dmitri }),
    status: 201,
    message: 'Accounts linked',
    summary: 'Link a chat account to a game account',
    description: 'Links the accounts without a verification code.',
    writes: true,
    errors: {
      INVALID_TARGET: 'The game platform knows no such user',
      PLATFORM_ERROR: PLATFORM_FAILED,
      ...linkTaken,
    },
  }),
  deleteLink: route({
    operationId: 'unlinkAccount',
    method: 'POST',
    path: '/verification/unlink',
    scope: 'verify:write',
    category: 'verify_write',
    guild: 'body',
    body: accountInGuild.meta({ example: { guild_id: guild, chat_id: dmitri.chat_id } }),
    data: z.object({
      unlinked: z.literal(true),
      chat_id: chatId.meta({ example: dmitri.chat_id }),
      game_id: gameIdOut.meta({ example: dmitri.game_id }),
    }),
    status: 200,
    message: 'Accounts unlinked',
    summary: 'Unlink a chat account from a game account',
    description:
      'Also removes the roles that bindings gave to the member. Roles that cannot be removed within three seconds are removed later.',
    writes: true,
    errors: { NOT_FOUND: 'The user is not linked in this guild' },
  }),
});
