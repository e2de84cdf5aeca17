import { z } from 'zod';
import { defineRoutes, PLATFORM_FAILED, route } from './route.ts';
import { chatId, exactlyOneOf, gameId, guildId, optional, roleId, timestamp } from './schemas.ts';

const MIN_SECONDS = 300;
/** The chat platform's maximum, seven days. */
const MAX_SECONDS = 604_800;

/** Invites that bring linked users into the guild. */
export const invitesRoutes = defineRoutes('members', {
  createInvite: route({
    method: 'POST',
    path: '/verification/invite',
    scope: 'verify:write',
    category: 'verify_write',
    guild: 'body',
    body: z
      .object({
        guild_id: guildId,
        chat_id: optional(chatId),
        game_id: optional(gameId),
        ttl_seconds: optional(
          z
            .int({ error: 'must be a whole number of seconds' })
            .min(MIN_SECONDS, { error: `must be at least ${MIN_SECONDS}` })
            .max(MAX_SECONDS, { error: `must be at most ${MAX_SECONDS}` }),
        ).meta({ description: 'Lifetime of the invite in seconds; 3600 if omitted' }),
      })
      .refine(...exactlyOneOf('chat_id', 'game_id'))
      .meta({ example: { guild_id: '900000000000000001', chat_id: '920000000000000001' } }),
    data: z
      .object({
        chat_id: chatId.meta({ example: '920000000000000004' }),
        is_member: z
          .boolean()
          .meta({ description: 'True if the account is in the guild and needs no invite', example: false }),
        url: z.string().nullable().meta({
          description: 'Address that opens the invite; null for a member',
          example: 'https://discord.gg/Xq3TzK9w',
        }),
        role_ids: z.array(roleId).meta({ description: 'Roles that accepting it gives' }),
        expires_at: timestamp.nullable().meta({ description: 'Unix seconds; null for a member' }),
      })
      .meta({ id: 'Invite', description: 'An invite that only the linked chat account can accept' }),
    status: 201,
    message: 'Invite created',
    summary: 'Invite a linked user into the guild, with roles',
    description:
      'Show the address to the player who verified in the game. Only the linked chat account can accept the invite, once, and gets the roles that the bindings give. Within a minute the same invite is returned again.',
    writes: true,
    errors: {
      NOT_FOUND: 'The user is not verified in this guild',
      NOT_APPLICABLE: 'The setting `invite_channel_id` is null, or the bot cannot create invites to the channel',
      PLATFORM_ERROR: PLATFORM_FAILED,
    },
  }),
});
