import { z } from 'zod';
import { defineRoutes, route } from '../route.ts';
import {
  gameId,
  guildId,
  nextCursor,
  numberId,
  page,
  placeId,
  timeRange,
  timestamp,
  timestampQuery,
} from '../schemas.ts';
import {
  action,
  createdPunishment,
  liftBody,
  lifted,
  liftedPunishment,
  logEntry,
  punishBody,
  punishment,
} from './schemas.ts';

const params = z.object({ guildId });

const write = {
  method: 'POST',
  scope: 'moderation:write',
  category: 'moderation_write',
  guild: 'path',
  params,
  writes: true,
} as const;
const read = {
  method: 'GET',
  scope: 'moderation:read',
  category: 'moderation_read',
  guild: 'path',
  params,
  status: 200,
  writes: false,
} as const;

const emptyServer = 'The server ID is empty';

const notifiesServers = 'Live servers in its scope get a command.';

const activeQuery = z
  .object({
    ...page,
    // Without an example, because a request cannot have all parameters.
    game_id: numberId('a game ID')
      .optional()
      .meta({ description: 'Only entries of this player. Not with `updated_since`' }),
    place_id: placeId
      .optional()
      .meta({ description: 'Only entries that apply in this place: global ones and those of the place' }),
    updated_since: timestampQuery.optional().meta({
      description: 'Only changes since this time, and adds `lifted`. Pass the `server_time` of an earlier response',
    }),
  })
  .refine((query) => query.game_id === undefined || query.updated_since === undefined, {
    path: ['game_id'],
    error: 'must not be given with updated_since',
    when: () => true,
  });

const activeData = {
  server_time: timestamp.meta({
    id: 'ServerTime',
    description:
      'Pass it as `updated_since` of the next request. No change is missed, but a change may be returned twice',
  }),
  lifted: z.array(lifted).optional().meta({ description: 'Entries lifted since `updated_since`, if that was given' }),
  next_cursor: nextCursor,
};

const activeOrder =
  'Ordered by end time, permanent entries last. With `updated_since` ordered by the time of the change. Entries that expire are not in `lifted`.';

/** Routes that ban and mute players, lift that again, and list bans, mutes and the log. */
export const decisionRoutes = defineRoutes('moderation', {
  banPlayer: route({
    ...write,
    path: '/moderation/:guildId/game/ban',
    body: punishBody,
    data: createdPunishment,
    status: 201,
    message: 'Player banned',
    summary: 'Ban a player',
    description: notifiesServers,
    errors: { CONFLICT: 'The player already has an active ban in that scope', NOT_APPLICABLE: emptyServer },
  }),
  mutePlayer: route({
    ...write,
    path: '/moderation/:guildId/game/mute',
    body: punishBody.meta({
      example: { game_id: 7001, reason: 'Spams the chat', moderator_game_id: 7002, duration: '1h' },
    }),
    data: createdPunishment,
    status: 201,
    message: 'Player muted',
    summary: 'Mute a player',
    description: notifiesServers,
    errors: { CONFLICT: 'The player already has an active mute in that scope', NOT_APPLICABLE: emptyServer },
  }),
  unbanPlayer: route({
    ...write,
    path: '/moderation/:guildId/game/unban',
    body: liftBody,
    data: liftedPunishment,
    status: 200,
    message: 'Player unbanned',
    summary: 'Unban a player',
    description: notifiesServers,
    errors: { NOT_FOUND: 'The player has no active ban', NOT_APPLICABLE: emptyServer },
  }),
  unmutePlayer: route({
    ...write,
    path: '/moderation/:guildId/game/unmute',
    body: liftBody,
    data: liftedPunishment,
    status: 200,
    message: 'Player unmuted',
    summary: 'Unmute a player',
    description: notifiesServers,
    errors: { NOT_FOUND: 'The player has no active mute', NOT_APPLICABLE: emptyServer },
  }),
  listActiveBans: route({
    ...read,
    path: '/moderation/:guildId/game/bans/active',
    query: activeQuery,
    data: z.object({ bans: z.array(punishment), ...activeData }),
    message: 'Active bans listed',
    summary: 'List active bans',
    description: activeOrder,
  }),
  listActiveMutes: route({
    ...read,
    path: '/moderation/:guildId/game/mutes/active',
    query: activeQuery,
    data: z.object({ mutes: z.array(punishment), ...activeData }),
    message: 'Active mutes listed',
    summary: 'List active mutes',
    description: activeOrder,
  }),
  listModerationLogs: route({
    ...read,
    path: '/moderation/:guildId/logs',
    query: z.object({
      ...page,
      game_id: gameId.optional().meta({ description: 'Only entries about this player' }),
      moderator_game_id: gameId
        .optional()
        .meta({ description: 'Only entries by the moderator with this game account', example: 7002 }),
      action: action.optional().meta({ description: 'Only entries with this action' }),
      ...timeRange,
    }),
    data: z.object({ logs: z.array(logEntry), next_cursor: nextCursor }),
    message: 'Moderation log listed',
    summary: 'List moderation log entries',
    description: 'Every ban, unban, mute and unmute, newest first.',
  }),
});
