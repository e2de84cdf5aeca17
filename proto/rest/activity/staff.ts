import { z } from 'zod';
import { PLATFORM_FAILED, route } from '../route.ts';
import {
  BATCH_LIMIT,
  chatId,
  gameId,
  gameIdOut,
  guildId,
  listOf,
  optional,
  text,
  timestamp,
  uuid,
  uuidOut,
} from '../schemas.ts';
import { serverId } from '../server-id.ts';
import {
  clientUuid,
  gameUsername,
  jsonObject,
  NO_SERVER_ID,
  placeId,
  pluginVersion,
  seconds,
  universeId,
} from './shapes.ts';

/** Messages of repeated writes, used by the route table and the handlers. */
export const ACTION_REPEATED = 'Action was logged before';
export const SESSION_RESUMED = 'Session resumed';

const noServerId = { NOT_APPLICABLE: NO_SERVER_ID };
const unknownSession = { NOT_FOUND: 'No such session in this guild' };

/** Routes for staff activity in the game: permissions, actions and sessions. */
export const staffRows = {
  readPermissions: route({
    operationId: 'getStaffPermissions',
    method: 'GET',
    path: '/guilds/:guildId/staff/game/:gameId/permissions',
    scope: 'activity:write',
    category: 'roblox_activity',
    guild: 'path',
    params: z.object({ guildId, gameId }),
    data: z
      .object({
        game_id: gameIdOut,
        chat_id: chatId.nullable().meta({ description: 'ID of the linked chat account; null if none is linked' }),
        is_staff: z.boolean().meta({ description: 'True if the member has a staff role', example: true }),
        level: z
          .int()
          .min(0)
          .max(10)
          .meta({ description: 'Level of the highest staff role; 0 if the player is not staff', example: 5 }),
        role_name: z.string().nullable().meta({
          description: 'Name of the staff role with the highest level; null if the player is not staff',
          example: 'Officer',
        }),
        permissions: z.array(z.string()).meta({
          description: 'Permissions of all staff roles of the member, without duplicates',
          example: ['ban', 'kick'],
        }),
        cache_seconds: z.int().meta({ description: 'How many seconds this response may be cached', example: 300 }),
      })
      .meta({ id: 'StaffPermissions', description: 'The staff permissions of a player' }),
    status: 200,
    message: 'Permissions read',
    summary: "Get a player's staff permissions",
    description:
      "Uses the player's linked chat account and its current chat roles. A player who is not staff gets 200 with level 0. A service or platform that is not reachable is an error, never level 0.",
    writes: false,
    errors: { PLATFORM_ERROR: PLATFORM_FAILED },
  }),
  registerGame: route({
    method: 'POST',
    path: '/game/games/register',
    scope: 'activity:write',
    category: 'staff_activity',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      universe_id: universeId,
      place_id: placeId,
      name: text(1, 100).meta({ description: 'Name of the game or the place', example: 'Harbor Life' }),
      plugin_version: optional(pluginVersion),
    }),
    data: z.object({
      registration_id: z
        .int()
        .min(1)
        .meta({ description: 'ID of the registration; always the same for the same place', example: 1 }),
      created: z.boolean().meta({ description: 'False if the place was already registered', example: true }),
      config: z
        .object({
          server_heartbeat_seconds: z.int().meta({ description: 'Seconds between server heartbeats', example: 15 }),
          staff_heartbeat_seconds: z.int().meta({ description: 'Seconds between staff heartbeats', example: 60 }),
          poll_seconds: z.int().meta({ description: 'Seconds between polls for commands', example: 15 }),
          permission_cache_seconds: z
            .int()
            .meta({ description: 'How many seconds staff permissions may be cached', example: 300 }),
        })
        .meta({ description: 'Intervals for the plugin. Later responses may change them' }),
    }),
    status: 200,
    message: 'Game registered',
    summary: 'Register a game place',
    description:
      'Repeat it to update the name and version. A place that was not registered again for 400 days is deleted.',
    writes: true,
    errors: { CONFLICT: 'The guild already has 1,000 other registered places' },
  }),
  logAction: route({
    operationId: 'logStaffAction',
    method: 'POST',
    path: '/staff/game/action',
    scope: 'activity:write',
    category: 'staff_activity',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      actor_game_id: gameId.meta({ description: 'Game account ID of the staff member', example: 7001 }),
      action_type: text(1, 64).meta({ description: 'Name of the action, chosen by you', example: 'kick' }),
      action_id: clientUuid.meta({
        description: 'Created by you. The same ID is not logged twice',
      }),
      target_game_id: optional(gameId).meta({ description: 'Game account ID of the player concerned', example: 7004 }),
      place_id: optional(placeId),
      server_id: optional(serverId),
      details: optional(jsonObject(4 * 1024)).meta({
        description: 'Additional data: an object of at most 4 KiB as JSON',
        example: { reason: 'spam' },
      }),
      occurred_at: optional(timestamp.max(99_999_999_999, { error: 'must be Unix seconds' })).meta({
        description: 'Unix seconds; the current time if omitted',
      }),
    }),
    data: z.object({
      id: uuidOut.meta({ description: 'The `action_id`', example: 'f3b0c442-98fc-4c14-9afb-f4c8996fb924' }),
    }),
    status: 201,
    message: 'Action logged',
    repeatedMessage: ACTION_REPEATED,
    summary: 'Log a staff action',
    description: 'Repeating an `action_id` returns the logged action again, even if the quota is exceeded.',
    writes: true,
    errors: { ...noServerId, QUOTA_EXCEEDED: 'The guild has reached its limit of staff actions for today (UTC)' },
    quota: { quota: 'staff_actions_per_day', limit: 100_000 },
  }),
  startSession: route({
    operationId: 'startStaffSession',
    method: 'POST',
    path: '/staff/game/session/start',
    scope: 'activity:write',
    category: 'staff_session',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      game_id: gameId,
      server_id: serverId,
      place_id: placeId,
      game_username: optional(gameUsername),
    }),
    data: z.object({
      session_id: uuidOut,
      started_at: timestamp,
      resumed: z.boolean().meta({
        description: 'True if the user had an open session on this server, which was resumed',
        example: false,
      }),
    }),
    status: 201,
    message: 'Session started',
    repeatedMessage: SESSION_RESUMED,
    summary: 'Start a staff session',
    description:
      'Resumes an open session. After three missed heartbeats (180 s) a session ends, at the time of the last one.',
    writes: true,
    errors: { ...noServerId, CONFLICT: 'The guild has already started 100,000 sessions today (UTC)' },
  }),
  beatSessions: route({
    operationId: 'sendStaffHeartbeat',
    method: 'POST',
    path: '/staff/game/heartbeat',
    scope: 'activity:write',
    category: 'staff_heartbeat',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      server_id: serverId,
      sessions: listOf(
        z.object({
          // Any string is accepted: an unknown ID is reported as stale, like the ID of an ended session.
          session_id: z.string().meta({ example: '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60' }),
          idle_seconds: optional(seconds('Total seconds that the user was idle in the session', 12)),
        }),
        BATCH_LIMIT,
      ).meta({ description: 'All open sessions of the server' }),
    }),
    data: z.object({
      active: z.array(z.string()).meta({
        description: 'IDs of the sessions that stay open',
        example: ['6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60'],
      }),
      stale: z.array(z.string()).meta({
        description: 'IDs of sessions that have ended or do not belong to this server. Start new sessions instead',
        example: [],
      }),
    }),
    status: 200,
    message: 'Heartbeat received',
    summary: 'Send a staff session heartbeat',
    description: 'Keeps up to 25 staff sessions of a server open. Send it every 60 s.',
    writes: false,
    errors: noServerId,
  }),
  endSession: route({
    operationId: 'endStaffSession',
    method: 'POST',
    path: '/staff/game/session/end',
    scope: 'activity:write',
    category: 'staff_session',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      session_id: uuid,
      reason: optional(text(0, 400, { lines: true })).meta({
        description: 'Reason why the session ended',
        example: 'left',
      }),
    }),
    data: z.object({
      session_id: uuidOut,
      started_at: timestamp.meta({ example: 1790000000 }),
      ended_at: timestamp.meta({ example: 1790003600 }),
      duration_seconds: z.int().meta({ description: 'Seconds from start to end', example: 3600 }),
      idle_seconds: z.int().meta({ description: 'The last reported total of idle seconds', example: 12 }),
    }),
    status: 200,
    message: 'Session ended',
    summary: 'End a staff session',
    description: 'Repeating the call changes nothing.',
    writes: true,
    errors: unknownSession,
  }),
};
