import { z } from 'zod';
import { defineRoutes, route } from '../route.ts';
import { gameId, guildId, nextCursor, page, placeId, timestamp, timestampQuery } from '../schemas.ts';
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

const activeQuery = z.object({
  ...page,
  place_id: placeId.optional().meta({ description: 'Only what counts in this place: global ones and its own' }),
  updated_since: timestampQuery
    .optional()
    .meta({ description: 'Only changes since: the `server_time` of an earlier answer; adds `lifted`' }),
});

const activeAnswer = {
  server_time: timestamp.meta({
    description: 'For `updated_since` of the next call; a little early, so that none is missed and some come twice',
  }),
  lifted: z
    .array(lifted)
    .optional()
    .meta({ description: 'What was lifted since `updated_since`; there only where that was given' }),
  next_cursor: nextCursor,
};

const activeRules =
  'Ordered by when they end, permanent ones last; with `updated_since` by when they changed. What ends by itself is not among `lifted`.';

/** Decisions, and reading them back. */
export const decisionRoutes = defineRoutes('moderation', {
  banPlayer: route({
    ...write,
    path: '/moderation/:guildId/game/ban',
    body: punishBody,
    data: createdPunishment,
    status: 201,
    message: 'Player banned',
    summary: 'Bans a player, and tells every live game server but the one that it came from',
    errors: { CONFLICT: 'A ban is in force in that scope already', NOT_APPLICABLE: emptyServer },
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
    summary: 'Mutes a player, and tells every live game server but the one that it came from',
    errors: { CONFLICT: 'A mute is in force in that scope already', NOT_APPLICABLE: emptyServer },
  }),
  unbanPlayer: route({
    ...write,
    path: '/moderation/:guildId/game/unban',
    body: liftBody,
    data: liftedPunishment,
    status: 200,
    message: 'Player unbanned',
    summary: "Lifts a player's bans",
    errors: { NOT_FOUND: 'No ban is in force', NOT_APPLICABLE: emptyServer },
  }),
  unmutePlayer: route({
    ...write,
    path: '/moderation/:guildId/game/unmute',
    body: liftBody,
    data: liftedPunishment,
    status: 200,
    message: 'Player unmuted',
    summary: "Lifts a player's mutes",
    errors: { NOT_FOUND: 'No mute is in force', NOT_APPLICABLE: emptyServer },
  }),
  listActiveBans: route({
    ...read,
    path: '/moderation/:guildId/game/bans/active',
    query: activeQuery,
    data: z.object({ bans: z.array(punishment), ...activeAnswer }),
    message: 'Active bans listed',
    summary: 'The bans in force, or what changed since an earlier answer',
    description: activeRules,
  }),
  listActiveMutes: route({
    ...read,
    path: '/moderation/:guildId/game/mutes/active',
    query: activeQuery,
    data: z.object({ mutes: z.array(punishment), ...activeAnswer }),
    message: 'Active mutes listed',
    summary: 'The mutes in force, or what changed since an earlier answer',
    description: activeRules,
  }),
  listModerationLogs: route({
    ...read,
    path: '/moderation/:guildId/logs',
    query: z.object({
      ...page,
      game_id: gameId.optional().meta({ description: 'Only decisions about this player' }),
      moderator_game_id: gameId
        .optional()
        .meta({ description: 'Only decisions of this moderator, by game account', example: 7002 }),
      action: action.optional().meta({ description: 'Only such decisions' }),
      from: timestampQuery.optional().meta({ description: 'Only decisions of this second or later' }),
      to: timestampQuery.optional().meta({ description: 'Only decisions of this second or earlier' }),
    }),
    data: z.object({ logs: z.array(logEntry), next_cursor: nextCursor }),
    message: 'Moderation log listed',
    summary: 'Every ban, unban, mute and unmute, newest first',
  }),
});
