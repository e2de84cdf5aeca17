import { z } from 'zod';
import { route } from '../route.ts';
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
  callersUuid,
  gameUsername,
  jsonObject,
  NO_SERVER_ID,
  placeId,
  pluginVersion,
  seconds,
  universeId,
} from './shapes.ts';

/** Messages of a repeat, for the row and for its handler. */
export const ACTION_REPEATED = 'Action was logged before';
export const SESSION_RESUMED = 'Session resumed';

const noServerId = { NOT_APPLICABLE: NO_SERVER_ID };
const unknownSession = { NOT_FOUND: 'No such session in this guild' };

/** What staff does, and for how long. */
export const staffRows = {
  readPermissions: route({
    method: 'GET',
    path: '/guilds/:guildId/staff/game/:gameId/permissions',
    scope: 'activity:write',
    category: 'roblox_activity',
    guild: 'path',
    params: z.object({ guildId, gameId }),
    data: z.object({
      game_id: gameIdOut,
      chat_id: chatId.nullable().meta({ description: 'The linked chat account; null when not linked' }),
      is_staff: z.boolean().meta({ description: 'Whether the member has a staff role', example: true }),
      level: z
        .int()
        .min(0)
        .max(10)
        .meta({ description: 'Of the highest staff role; 0 for who is not staff', example: 5 }),
      role_name: z.string().nullable().meta({
        description: 'Of the staff role with the highest level; null for who is not staff',
        example: 'Officer',
      }),
      permissions: z
        .array(z.string())
        .meta({ description: 'Those of all staff roles of the member, each once', example: ['ban', 'kick'] }),
      cache_seconds: z.int().meta({ description: 'How long this may be remembered', example: 300 }),
    }),
    status: 200,
    message: 'Permissions read',
    summary: 'What a player may do as staff; a player who is not staff is no error',
    description:
      "Follows the link to the chat account and that member's chat roles as they are now. Never tells that somebody is not staff because a part is down: that is an error.",
    writes: false,
    errors: { PLATFORM_ERROR: 'The chat platform refused or gave no readable answer' },
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
      name: text(1, 100).meta({ description: 'Of the game or the place', example: 'Harbor Life' }),
      plugin_version: optional(pluginVersion),
    }),
    data: z.object({
      registration_id: z.int().min(1).meta({ description: 'The same for the same place', example: 1 }),
      created: z.boolean().meta({ description: 'False where it was registered before', example: true }),
      config: z
        .object({
          server_heartbeat_seconds: z.int().meta({ description: 'Pause between server heartbeats', example: 15 }),
          staff_heartbeat_seconds: z.int().meta({ description: 'Pause between staff heartbeats', example: 60 }),
          poll_seconds: z.int().meta({ description: 'Pause between polls for commands', example: 15 }),
          permission_cache_seconds: z
            .int()
            .meta({ description: "How long a staff member's permissions may be remembered", example: 300 }),
        })
        .meta({ description: 'How often the plugin may call now; later answers say it anew' }),
    }),
    status: 200,
    message: 'Game registered',
    summary: 'Registers a place of a game, or updates its name and plugin version; repeatable',
    description: 'A place that no server has registered for 400 days is forgotten.',
    writes: true,
    errors: { CONFLICT: 'The guild has 1,000 other places registered' },
  }),
  logAction: route({
    method: 'POST',
    path: '/staff/game/action',
    scope: 'activity:write',
    category: 'staff_activity',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      actor_game_id: gameId.meta({ description: 'Game account of who acted', example: 7001 }),
      action_type: text(1, 64).meta({ description: 'A name of your own', example: 'kick' }),
      action_id: callersUuid.meta({ description: 'Your name for this action; the same again is not logged twice' }),
      target_game_id: optional(gameId).meta({ description: 'Game account that it was done to', example: 7004 }),
      place_id: optional(placeId),
      server_id: optional(serverId),
      details: optional(jsonObject(4 * 1024)).meta({
        description: 'Further information: an object of at most 4 KiB as JSON',
        example: { reason: 'spam' },
      }),
      occurred_at: optional(timestamp.max(99_999_999_999, { error: 'must be Unix seconds' })).meta({
        description: 'When it was done, in Unix seconds; now when left out',
      }),
    }),
    data: z.object({
      id: uuidOut.meta({ description: 'The `action_id`', example: 'f3b0c442-98fc-4c14-9afb-f4c8996fb924' }),
    }),
    status: 201,
    message: 'Action logged',
    repeatedMessage: ACTION_REPEATED,
    summary: 'Logs what a staff member did',
    description: 'An `action_id` that was logged before is answered again, whatever the quota.',
    writes: true,
    errors: { ...noServerId, QUOTA_EXCEEDED: 'The guild has logged as many staff actions today (UTC) as it may' },
    quota: { quota: 'staff_actions_per_day', limit: 100_000 },
  }),
  startSession: route({
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
      resumed: z.boolean().meta({ description: 'Whether the user had an open session on this server', example: false }),
    }),
    status: 201,
    message: 'Session started',
    repeatedMessage: SESSION_RESUMED,
    summary: "Starts a staff member's session, or resumes the open one of that user on that server",
    description: 'Three missed heartbeats (180 s without one) end a session at its last one.',
    writes: true,
    errors: { ...noServerId, CONFLICT: 'The guild has started 100,000 sessions today (UTC)' },
  }),
  beatSessions: route({
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
          // Whatever its form: what is none of our IDs is stale like a session that is over.
          session_id: z.string().meta({ example: '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60' }),
          idle_seconds: optional(seconds('How long the user was idle in the session so far', 12)),
        }),
        BATCH_LIMIT,
      ).meta({ description: 'Every open session of the server' }),
    }),
    data: z.object({
      active: z.array(z.string()).meta({
        description: 'Sessions that go on',
        example: ['6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60'],
      }),
      stale: z.array(z.string()).meta({
        description: 'Sessions that are over, or are none of this server: start new ones',
        example: [],
      }),
    }),
    status: 200,
    message: 'Heartbeat received',
    summary: 'Keeps up to 25 staff sessions of a server open; to be sent every 60 s',
    writes: false,
    errors: noServerId,
  }),
  endSession: route({
    method: 'POST',
    path: '/staff/game/session/end',
    scope: 'activity:write',
    category: 'staff_session',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      session_id: uuid,
      reason: optional(text(0, 400, { lines: true })).meta({ description: 'Why it ended', example: 'left' }),
    }),
    data: z.object({
      session_id: uuidOut,
      started_at: timestamp.meta({ example: 1790000000 }),
      ended_at: timestamp.meta({ example: 1790003600 }),
      duration_seconds: z.int().meta({ description: 'From start to end', example: 3600 }),
      idle_seconds: z.int().meta({ description: 'The last total that was told', example: 12 }),
    }),
    status: 200,
    message: 'Session ended',
    summary: "Ends a staff member's session; ending it again changes nothing",
    writes: true,
    errors: unknownSession,
  }),
};
