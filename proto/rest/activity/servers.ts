import { z } from 'zod';
import { route } from '../route.ts';
import {
  gameId,
  gameIdOut,
  guildId,
  listOf,
  MAX_WAIT_SECONDS,
  numberQuery,
  optional,
  timestamp,
  uuid,
  uuidOut,
} from '../schemas.ts';
import { namedServerId, serverId } from '../server-id.ts';
import {
  ackFields,
  ackStatus,
  commandType,
  count,
  gameUsername,
  NO_SERVER_ID,
  placeId,
  pluginVersion,
  seconds,
  universeId,
} from './shapes.ts';

const MAX_COMMANDS = 50;
/** The shortest interval between heartbeats, and between polls without `wait`. Used while few servers are live. */
export const MIN_INTERVAL_SECONDS = 15;

/** A command as its server receives it. */
export const command = z
  .object({
    command_id: uuidOut.meta({
      description: 'Command ID, for the acknowledgement',
      example: '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11',
    }),
    type: commandType,
    target: z
      .object({
        game_id: gameIdOut,
        game_username: z.string().nullable().meta({ description: 'Username in the game', example: 'AdaBuilds' }),
      })
      .nullable()
      .meta({ description: 'Player whom the command concerns; null if it concerns no single player' }),
    payload: z
      .record(z.string(), z.unknown())
      .meta({ description: 'Parameters of the command', example: { reason: 'spam' } }),
    issued_by: z.string().nullable().meta({ description: 'Issuer of the command', example: '920000000000000001' }),
    created_at: timestamp.meta({ example: 1790000000 }),
    expires_at: timestamp.meta({
      description: 'The command is not delivered after this time; Unix seconds',
      example: 1790000120,
    }),
    attempt: z.int().meta({ description: 'Delivery attempt, starting at 1', example: 1 }),
    lease_expires_at: timestamp.meta({
      description: 'The command is delivered again after this time unless it is acknowledged; Unix seconds',
      example: 1790000035,
    }),
  })
  .meta({ id: 'Command', description: 'A command for a game server' });

const interval = (description: string) => z.int().meta({ description, example: 15 });

/** Routes for game servers: heartbeats and commands. */
export const serverRows = {
  beatServer: route({
    operationId: 'sendServerHeartbeat',
    method: 'POST',
    path: '/game/servers/heartbeat',
    scope: 'server:write',
    category: 'server_heartbeat',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      server_id: serverId,
      place_id: placeId,
      player_count: count(100_000, 'Players on the server', 1),
      max_players: count(100_000, 'Maximum number of players on the server', 30),
      universe_id: optional(universeId),
      players: optional(listOf(z.object({ game_id: gameId, username: optional(gameUsername) }), 200)),
      fps: optional(
        z
          .number({ error: 'must be a number' })
          .min(0, { error: 'must be at least 0' })
          .max(100_000, { error: 'must be at most 100000' }),
      ).meta({ description: 'Frames per second', example: 59.9 }),
      age_seconds: optional(seconds('Seconds since the server started', 3600)),
      plugin_version: optional(pluginVersion),
      acks: optional(listOf(z.object({ command_id: uuid, ...ackFields }), MAX_COMMANDS)).meta({
        description: 'Acknowledgements of commands. Unknown and already acknowledged commands are ignored',
      }),
      final: optional(z.boolean({ error: 'must be true or false' })).meta({
        description: 'True if the server is shutting down. It is then no longer live',
      }),
    }),
    data: z.object({
      server_time: timestamp,
      next_heartbeat_seconds: interval('Seconds until the next heartbeat; increases with the number of live servers'),
      commands: z.array(command).meta({ description: 'Up to 20 commands, oldest first' }),
      wake_up_topic: z.string().optional().meta({
        description: 'MessagingService topic: poll on each message',
        example: 'guild-data-1',
      }),
    }),
    status: 200,
    message: 'Heartbeat received',
    summary: 'Send a server heartbeat',
    description: `Acknowledges commands and receives new ones. A server is live until 3 times \`next_heartbeat_seconds\` after its last heartbeat, or until a heartbeat with \`final\`. A command is leased for 30 s after a poll, for at least twice the heartbeat interval after a heartbeat, and then delivered again until it is acknowledged or expires. Store its \`command_id\` to execute it once.`,
    writes: false,
    errors: {
      NOT_APPLICABLE: NO_SERVER_ID,
      QUOTA_EXCEEDED: 'The guild has reached its limit of live servers (2,000 by default)',
      CONFLICT: '100,000 servers of the guild have already started today (UTC); live servers are not affected',
    },
    quota: { quota: 'live_servers', limit: 2_000 },
  }),
  pollCommands: route({
    method: 'GET',
    path: '/game/servers/:serverId/commands',
    scope: 'server:write',
    category: 'server_poll',
    guild: 'header',
    params: z.object({ serverId: namedServerId }),
    query: z.object({
      limit: numberQuery(1, MAX_COMMANDS).default(20).meta({
        description: 'Maximum number of commands; 20 if omitted',
        example: 20,
      }),
      wait: numberQuery(0, MAX_WAIT_SECONDS).default(0).meta({
        description: 'Maximum number of seconds to wait for the first command; 0 if omitted',
        example: 25,
      }),
    }),
    data: z.object({
      commands: z.array(command).meta({ description: 'Commands, oldest first' }),
      poll_after_seconds: interval(
        'Seconds until the next poll without `wait`; increases with the number of live servers',
      ),
    }),
    status: 200,
    message: 'Commands polled',
    summary: 'Poll for commands',
    description:
      'With `wait` the response is delayed until there is a command (long polling). An unknown server gets no commands. Commands are leased and delivered again as with `sendServerHeartbeat`.',
    writes: false,
    longPoll: { whenEnded: { commands: [], poll_after_seconds: MIN_INTERVAL_SECONDS } },
  }),
  acknowledgeCommand: route({
    method: 'POST',
    path: '/game/servers/:serverId/commands/:commandId/ack',
    scope: 'server:write',
    category: 'server_ack',
    guild: 'body',
    params: z.object({
      serverId: namedServerId,
      commandId: uuid.meta({ description: 'Command ID', example: '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11' }),
    }),
    body: z.object({ guild_id: guildId, ...ackFields }),
    data: z.object({
      command_id: uuidOut.meta({ example: '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11' }),
      status: ackStatus,
      acked_at: timestamp,
    }),
    status: 200,
    message: 'Command acknowledged',
    summary: 'Acknowledge a command',
    description: 'Repeating the same acknowledgement changes nothing.',
    writes: true,
    errors: {
      NOT_FOUND: 'No such command for this server',
      CONFLICT: 'The command was already acknowledged with another status',
    },
  }),
};
