import { z } from 'zod';
import { defineRoutes, route } from '../route.ts';
import { batch, gameId, guildId, optional, placeId } from '../schemas.ts';
import { banInfo, muteInfo, shieldEntry } from './schemas.ts';

const statusQuery = z.object({
  place_id: placeId.optional().meta({ description: 'Place ID; bans and mutes of this place are checked too' }),
  no_cache: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .optional()
    .meta({ description: 'If `true`, the database is read; otherwise the response may be up to 10 s old' }),
});

const statusParams = z.object({ guildId, identifier: gameId });

const banned = z.boolean().meta({ description: 'True if the player has an active ban', example: true });
const muted = z.boolean().meta({ description: 'True if the player has an active mute', example: true });
const flagged = z.boolean().meta({ description: 'True if the player is on the flagged list', example: true });

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

/** Routes with which game servers check players. */
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
    summary: "Get a player's ban status",
    description: 'Without `place_id` only global bans are checked. A change is visible in all responses within 500 ms.',
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
    summary: "Get a player's mute status",
    description:
      'Without `place_id` only global mutes are checked. A change is visible in all responses within 500 ms.',
    writes: false,
  }),
  getGameStatuses: route({
    operationId: 'getPlayerStatuses',
    method: 'POST',
    path: '/moderation/:guildId/game/status',
    scope: 'moderation:read',
    category: 'moderation_check',
    guild: 'path',
    params: z.object({ guildId }),
    body: z
      .object({ game_ids: batch(gameId), place_id: optional(placeId) })
      .meta({ example: { game_ids: [7001, 7004], place_id: 40001 } }),
    data: z.object({
      results: z
        .record(
          z.string(),
          z
            .object({ banned, ban_info: banInfo.nullable(), muted, mute_info: muteInfo.nullable(), flagged })
            .meta({ id: 'PlayerStatus', description: 'Whether a player is banned, muted or flagged' }),
        )
        .meta({
          description: 'Status by requested game account ID',
          example: {
            '7001': { banned: true, ban_info: exampleBan, muted: false, mute_info: null, flagged: false },
            '7004': { banned: false, ban_info: null, muted: false, mute_info: null, flagged: false },
          },
        }),
    }),
    status: 200,
    message: 'Players checked',
    summary: 'Get the moderation status of up to 25 players',
    description: 'Bans, mutes and the flagged list in one request.',
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
      entry: shieldEntry
        .nullable()
        .meta({ description: 'Entry of the flagged list; null if the player is not on it', example: exampleEntry }),
    }),
    status: 200,
    message: 'Flagged list checked',
    summary: 'Check whether a player is on the flagged list',
    description: "If the player has an entry of the guild and one for all guilds, the guild's own is returned.",
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
        description: 'Entries by requested game account ID; null if the player is not on the flagged list',
        example: { '7001': exampleEntry, '7004': null },
      }),
    }),
    status: 200,
    message: 'Flagged list checked',
    summary: 'Check whether up to 25 players are on the flagged list',
    writes: false,
  }),
});
