import { z } from 'zod';
import { defineRoutes, PLATFORM_FAILED, route } from './route.ts';
import { accountInGuild, chatId, roleId, timestamp } from './schemas.ts';

/** Invites that bring linked users into the guild. */
export const invitesRoutes = defineRoutes('members', {
  createInvite: route({
    method: 'POST',
    path: '/verification/invite',
    scope: 'verify:write',
    category: 'verify_write',
    guild: 'body',
    body: accountInGuild.meta({ example: { guild_id: '900000000000000001', chat_id: '920000000000000001' } }),
    data: z
      .object({
        chat_id: chatId,
        url: z.string().nullable().meta({ description: 'Null for a member', example: 'https://discord.gg/Xq3TzK9w' }),
        role_ids: z.array(roleId).meta({ description: 'Roles that the invite gives' }),
        expires_at: timestamp.nullable(),
      })
      .meta({ id: 'Invite', description: 'An invite for one account' }),
    status: 201,
    message: 'Invite created',
    summary: 'Invite a linked user, with roles',
    description:
      'Only the linked chat account can accept it, once, within an hour. The same invite is returned for a minute.',
    writes: true,
    errors: {
      NOT_FOUND: 'The user is not verified in this guild',
      NOT_APPLICABLE: '`invite_channel_id` is not set, or the bot cannot create invites',
      PLATFORM_ERROR: PLATFORM_FAILED,
    },
  }),
});
