import { z } from 'zod';
import { defineRoutes, route } from '../route.ts';
import { batch, gameId, guildId, optional, placeId } from '../schemas.ts';
import { banInfo, muteInfo, shieldEntry } from './schemas.ts';

const statusQuery = z.object({
  place_id: placeId.optional().meta({ description: 'Punishments of this place count too' }),
  no_cache: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .optional()
    .meta({ description: '`true` reads the database; else an answer may be up to 10 s old' }),
});

const statusParams = z.object({ guildId, identifier: gameId });

const banned = z.boolean().meta({ description: 'Whether a ban is in force', example: true });
const muted = z.boolean().meta({ description: 'Whether a mute is in force', example: true });
const flagged = z.boolean().meta({ description: 'Whether the player is on the flagged list', example: true });

const exampleBan = {
  reason: 'Used speed hacks',
  banned_by: '7002',
  created_at: 1790000000,
  expires_at: 1790604800,
  is_permanent: false,
};
const exampleEntry = {
  game_id: 7001,
  game_username: 'AdaBuilds',
  reason: 'Sells stolen items',
  category: 'scammer',
  source: 'operator',
  flagged_at: 1790000000,
};

/** What game servers ask about players. */
export const statusRoutes = defineRoutes('moderation', {
  getBanStatus: route({
    method: 'GET',
    path: '/moderation/:guildId/ban-status/:identifier',
    scope: 'moderation:read',
    category: 'moderation_check',
    guild: 'path',
    params: statusParams,
    query: statusQuery,
    data: z.object({ banned, ban_info: banInfo.optional() }),
    status: 200,
    message: 'Ban status checked',
    summary: 'Whether a player is banned',
    description: 'Without `place_id` only global bans count. A change shows on every replica within 500 ms.',
    writes: false,
  }),
  getMuteStatus: route({
    method: 'GET',
    path: '/moderation/:guildId/mute-status/:identifier',
    scope: 'moderation:read',
    category: 'moderation_check',
    guild: 'path',
    params: statusParams,
    query: statusQuery,
    data: z.object({ muted, mute_info: muteInfo.optional() }),
    status: 200,
    message: 'Mute status checked',
    summary: 'Whether a player is muted',
    description: 'Without `place_id` only global mutes count. A change shows on every replica within 500 ms.',
    writes: false,
  }),
  getGameStatuses: route({
    method: 'POST',
    path: '/moderation/:guildId/game/status',
    scope: 'moderation:read',
    category: 'moderation_check',
    guild: 'path',
    params: z.object({ guildId }),
    body: z
      .object({ game_ids: batch(gameId), place_id: optional(placeId) })
      .meta({ example: { game_ids: [7001, 7004], place_id: 4001 } }),
    data: z.object({
      results: z
        .record(
          z.string(),
          z.object({ banned, ban_info: banInfo.nullable(), muted, mute_info: muteInfo.nullable(), flagged }),
        )
        .meta({
          description: 'By each ID passed',
          example: {
            '7001': { banned: true, ban_info: exampleBan, muted: false, mute_info: null, flagged: false },
            '7004': { banned: false, ban_info: null, muted: false, mute_info: null, flagged: false },
          },
        }),
    }),
    status: 200,
    message: 'Players checked',
    summary: 'All that a server asks about up to 25 joining players',
    writes: false,
  }),
  checkShield: route({
    method: 'GET',
    path: '/shield/check/:gameId',
    scope: 'moderation:read',
    category: 'moderation_check',
    guild: 'header',
    params: z.object({ gameId }),
    data: z.object({
      flagged,
      entry: shieldEntry.nullable().meta({ description: 'null when the player is not flagged', example: exampleEntry }),
    }),
    status: 200,
    message: 'Flagged list checked',
    summary: 'Whether a player is on the flagged list',
    description: "The guild's own entry is told where there is also one for all guilds.",
    writes: false,
  }),
  checkShieldBatch: route({
    method: 'POST',
    path: '/shield/batch',
    scope: 'moderation:read',
    category: 'moderation_check',
    guild: 'body',
    body: z
      .object({ guild_id: guildId, game_ids: batch(gameId) })
      .meta({ example: { guild_id: '900000000000000001', game_ids: [7001, 7004] } }),
    data: z.object({
      results: z.record(z.string(), shieldEntry.nullable()).meta({
        description: 'By each ID passed; null when that player is not flagged',
        example: { '7001': exampleEntry, '7004': null },
      }),
    }),
    status: 200,
    message: 'Flagged list checked',
    summary: 'Which of up to 25 players are on the flagged list',
    writes: false,
  }),
});
