import { z } from 'zod';
import { defineRoutes, PLATFORM_FAILED, route } from './route.ts';
import { chatId, gameIdOut, guildId, nextCursor, page, roleId, timestamp } from './schemas.ts';

const member = z
  .object({
    chat_id: chatId,
    username: z.string().meta({ description: 'Username on the chat platform', example: 'ada' }),
    nickname: z.string().nullable().meta({ description: 'Nickname in this guild', example: null }),
    roles: z.array(roleId).meta({ description: 'Role IDs, without `@everyone`' }),
    joined_at: timestamp.nullable().meta({ description: 'Unix seconds; null if not available from the chat platform' }),
    verified: z.boolean().meta({ description: 'True if a game account is linked' }),
    game_id: gameIdOut.nullable().meta({ description: 'ID of the linked game account' }),
    game_username: z
      .string()
      .nullable()
      .meta({ description: 'Username of the linked game account', example: 'AdaBuilds' }),
  })
  .meta({ id: 'Member', description: 'A member of the guild, with the linked game account' });

const platformErrors = { PLATFORM_ERROR: PLATFORM_FAILED };

/** Members and roles of a guild on the chat platform. */
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
        .meta({ description: 'Only members who have (`true`) or do not have (`false`) a linked game account' }),
    }),
    data: z.object({ members: z.array(member), next_cursor: nextCursor }),
    status: 200,
    message: 'Members listed',
    summary: 'List guild members',
    description: 'Ordered by chat ID, without the bot. The data is up to 10 s old.',
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
    summary: 'Get a guild member',
    description: 'Reads the current data from the chat platform.',
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
        z
          .object({
            id: roleId,
            name: z.string().meta({ description: 'Role name', example: 'Officer' }),
            position: z.int().meta({
              description: 'Position in the role hierarchy: a higher value ranks above a lower one',
              example: 5,
            }),
            color: z
              .int()
              .min(0)
              .meta({ description: 'RGB color as one integer; 0 if the role has no color', example: 3447003 }),
            managed: z.boolean().meta({
              description: 'True if an integration manages the role, so that it cannot be assigned',
              example: false,
            }),
            assignable: z.boolean().meta({ description: 'True if the bot can assign and remove the role' }),
          })
          .meta({ id: 'Role', description: 'A role of the guild on the chat platform' }),
      ),
    }),
    status: 200,
    message: 'Roles listed',
    summary: 'List guild roles',
    description: 'Ordered from highest to lowest, without `@everyone`. The data is up to a minute old.',
    writes: false,
    errors: platformErrors,
  }),
});
