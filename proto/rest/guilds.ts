import { z } from 'zod';
import { defineRoutes, route } from './route.ts';
import { chatId, gameIdOut, guildId, nextCursor, page, roleId, timestamp } from './schemas.ts';

const member = z
  .object({
    chat_id: chatId,
    username: z.string().meta({ description: 'The name on the chat platform', example: 'ada' }),
    nickname: z.string().nullable().meta({ description: 'The name in this guild; null for none', example: null }),
    roles: z.array(roleId).meta({ description: 'Without `@everyone`' }),
    joined_at: timestamp.nullable().meta({ description: 'Unix seconds; null where the chat platform does not tell' }),
    verified: z.boolean().meta({ description: 'Whether a game account is linked' }),
    game_id: gameIdOut.nullable().meta({ description: 'The linked game account, or null' }),
    game_username: z.string().nullable().meta({ description: 'The name in the game, or null', example: 'AdaBuilds' }),
  })
  .meta({ id: 'Member', description: 'Who is in the guild, with the link to a game account' });

const platformErrors = { PLATFORM_ERROR: 'The chat platform refused or gave no readable answer' };

/** What there is in a guild on the chat platform. */
export const guildsRoutes = defineRoutes('members', {
  listMembers: route({
    method: 'GET',
    path: '/guilds/:guildId/members',
    scope: 'members:read',
    category: 'members_read',
    guild: 'path',
    params: z.object({ guildId }),
    query: z.object({
      ...page,
      role_id: roleId.optional().meta({ description: 'Only members who have this role' }),
      verified: z
        .enum(['true', 'false'], { error: 'must be true or false' })
        .transform((value) => value === 'true')
        .pipe(z.boolean())
        .optional()
        .meta({ description: 'Only members with, or without, a linked game account' }),
    }),
    data: z.object({ members: z.array(member), next_cursor: nextCursor }),
    status: 200,
    message: 'Members listed',
    summary: 'Everybody in the guild, page by page',
    description:
      'In the order of chat IDs, up to ten seconds old, without the bot. A page with a filter may be short or empty while `next_cursor` is set.',
    writes: false,
    errors: platformErrors,
  }),
  getMember: route({
    method: 'GET',
    path: '/guilds/:guildId/members/:chatId',
    scope: 'members:read',
    category: 'members_read',
    guild: 'path',
    params: z.object({ guildId, chatId }),
    data: member,
    status: 200,
    message: 'Member found',
    summary: 'One member as it is now',
    writes: false,
    errors: { NOT_FOUND: 'The account is not in this guild', ...platformErrors },
  }),
  listRoles: route({
    method: 'GET',
    path: '/guilds/:guildId/roles',
    scope: null,
    category: 'config_read',
    guild: 'path',
    params: z.object({ guildId }),
    data: z.object({
      roles: z.array(
        z.object({
          id: roleId,
          name: z.string().meta({ description: 'The name of the role', example: 'Officer' }),
          position: z.int().meta({ description: 'Higher stands above lower', example: 5 }),
          color: z
            .int()
            .min(0)
            .meta({ description: 'Red, green and blue in one number; 0 for none', example: 3447003 }),
          managed: z.boolean().meta({ description: 'Belongs to an integration; nobody can give it', example: false }),
          assignable: z.boolean().meta({ description: 'Whether the bot can give and take it' }),
        }),
      ),
    }),
    status: 200,
    message: 'Roles listed',
    summary: 'Roles of the guild, the highest first, without `@everyone`; up to a minute old',
    writes: false,
    errors: platformErrors,
  }),
});
