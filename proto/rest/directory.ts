import { z } from 'zod';
import { defineRoutes, PLATFORM_FAILED, route } from './route.ts';
import { chatId, gameId, gameIdOut, guildId, listOf, optional, roleId, text } from './schemas.ts';
import { roleFailure } from './sync.ts';

/** The maximum number of people that a search returns. */
export const MAX_FOUND = 25;
/** The maximum number of IDs of each kind whose names one request resolves. */
export const MAX_NAMES = 100;

const chatUsername = z
  .string()
  .nullable()
  .meta({ description: 'Username on the chat platform; null if unknown', example: 'ada' });
const gameUsername = z
  .string()
  .nullable()
  .meta({ description: 'Username in the game; null if unknown', example: 'AdaBuilds' });

const incomplete = z.array(z.enum(['chat', 'game'])).meta({
  description: 'Platforms that did not respond',
  example: [],
});

const foundPerson = z
  .object({
    chat_id: chatId.nullable(),
    chat_username: chatUsername,
    nickname: z.string().nullable().meta({ description: 'Nickname in this guild', example: null }),
    game_id: gameIdOut.nullable(),
    game_username: gameUsername,
  })
  .meta({ id: 'FoundPerson', description: 'A person with one or both accounts; linked accounts are one person' });

/** Why a binding matches a member or does not. */
export const REASON_CODES = [
  'RANK_IN_RANGE',
  'RANK_TOO_LOW',
  'RANK_TOO_HIGH',
  'NOT_IN_GROUP',
  'OWNED',
  'NOT_OWNED',
  'OLD_ENOUGH',
  'TOO_YOUNG',
  'VERIFIED',
  'NOT_VERIFIED',
  'INVENTORY_PRIVATE',
  'ACCOUNT_REJECTED',
  'PLATFORM_UNAVAILABLE',
] as const;

export type ReasonCode = (typeof REASON_CODES)[number];

const explainedBinding = z.object({
  binding_id: z.int().min(1).meta({ description: 'Binding ID', example: 1 }),
  matches: z
    .enum(['yes', 'no', 'unknown'])
    .meta({ description: '`unknown`: the game platform cannot tell now', example: 'yes' }),
  code: z.enum(REASON_CODES).meta({ id: 'ReasonCode', description: 'Reason code', example: 'RANK_IN_RANGE' }),
  reason: z.string().meta({
    description: 'Explanation for people',
    example: 'Rank 200 (Captain) in Harbor Crew is within 100 to 255',
  }),
});

const explainedRole = z
  .object({
    role_id: roleId,
    role_name: z.string().nullable().meta({ description: 'Role name; null if it was deleted', example: 'Officer' }),
    has_role: z.boolean().meta({ description: 'True if the member has the role' }),
    action: z.enum(['add', 'remove', 'keep', 'none']).meta({
      description: 'What a sync would do. `none`: the member neither has nor gets the role',
      example: 'keep',
    }),
    blocked: roleFailure.nullable().meta({
      description: 'Why the bot cannot change the role; null if it can',
      example: null,
    }),
    bindings: z.array(explainedBinding),
  })
  .meta({ id: 'ExplainedRole', description: 'A role with bindings, and why the member has it or does not' });

const platformErrors = { PLATFORM_ERROR: PLATFORM_FAILED };

/** Routes that find people, resolve names, and explain roles. */
export const directoryRoutes = defineRoutes('members', {
  searchPeople: route({
    method: 'GET',
    path: '/guilds/:guildId/people',
    scope: 'members:read',
    category: 'members_read',
    guild: 'path',
    params: z.object({ guildId }),
    query: z.object({
      query: text(1, 100)
        .transform((value) => value.trim())
        .refine((value) => value !== '', { error: 'must not be blank' })
        .pipe(z.string())
        .meta({
          type: 'string',
          minLength: 1,
          maxLength: 100,
          description: 'A chat ID, a game ID, the beginning of a name in the chat, or a whole name in the game',
          example: 'ada',
        }),
    }),
    data: z.object({ people: z.array(foundPerson), incomplete }),
    status: 200,
    message: 'People found',
    summary: 'Search people by ID or name',
    description: `Returns at most ${MAX_FOUND} people, exact matches first.`,
    writes: false,
    errors: platformErrors,
  }),
  resolveNames: route({
    method: 'POST',
    path: '/guilds/:guildId/names',
    scope: 'members:read',
    category: 'members_read',
    guild: 'path',
    params: z.object({ guildId }),
    body: z
      .object({
        chat_ids: optional(listOf(chatId, MAX_NAMES, 'IDs')),
        game_ids: optional(listOf(gameId, MAX_NAMES, 'IDs')),
      })
      .meta({ example: { chat_ids: ['920000000000000001'], game_ids: [7001] } }),
    data: z.object({
      chat_names: z.record(z.string(), z.string().nullable()).meta({
        description: 'Usernames of members by chat ID; null if unknown',
        example: { '920000000000000001': 'ada' },
      }),
      game_names: z.record(z.string(), z.string().nullable()).meta({
        description: 'Usernames by game ID; null if unknown',
        example: { '7001': 'AdaBuilds' },
      }),
      incomplete,
    }),
    status: 200,
    message: 'Names resolved',
    summary: `Resolve the names of up to ${MAX_NAMES} chat and game IDs`,
    description: 'Names may be an hour old.',
    writes: false,
  }),
  explainRoles: route({
    method: 'GET',
    path: '/guilds/:guildId/members/:chatId/roles',
    scope: 'members:read',
    category: 'members_read',
    guild: 'path',
    params: z.object({ guildId, chatId }),
    data: z.object({
      chat_id: chatId,
      game_id: gameIdOut.nullable().meta({ description: 'ID of the linked game account' }),
      game_username: gameUsername,
      roles: z.array(explainedRole),
    }),
    status: 200,
    message: 'Roles explained',
    summary: 'Explain the roles of a member binding by binding',
    description: 'Every role that has a binding or that a sync assigned.',
    writes: false,
    errors: { NOT_FOUND: 'The account is not in this guild', ...platformErrors },
  }),
});
