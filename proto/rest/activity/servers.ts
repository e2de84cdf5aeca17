import { z } from 'zod';
import { route } from '../route.ts';
import { gameId, gameIdOut, guildId, listOf, optional, timestamp, uuid, uuidOut } from '../schemas.ts';
import { namedServerId, serverId } from '../server-id.ts';
import {
  ackFields,
  ackStatus,
  COMMAND_TYPES,
  count,
  gameUsername,
  NO_SERVER_ID,
  placeId,
  pluginVersion,
  seconds,
  universeId,
} from './shapes.ts';

const MOST_COMMANDS = 50;
const LONGEST_WAIT_SECONDS = 25;
/** Between heartbeats, and between polls that do not wait; told where few servers are live. */
export const SHORTEST_INTERVAL_SECONDS = 15;

/** A command as its server gets it. */
export const command = z
  .object({
    command_id: uuidOut.meta({ description: 'To acknowledge it by', example: '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11' }),
    type: z.enum(COMMAND_TYPES).meta({ description: 'What to do', example: 'kick' }),
    target: z
      .object({
        game_id: gameIdOut,
        game_username: z.string().nullable().meta({ description: 'The name in the game', example: 'AdaBuilds' }),
      })
      .nullable()
      .meta({ description: 'Who it is about; null where it is about nobody' }),
    payload: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What else there is to know', example: { reason: 'spam' } }),
    issued_by: z.string().nullable().meta({ description: 'Who wants it', example: '920000000000000001' }),
    created_at: timestamp.meta({ example: 1790000000 }),
    expires_at: timestamp.meta({ description: 'Not handed over later than this; Unix seconds', example: 1790000120 }),
    attempt: z.int().meta({ description: 'Delivery attempt, starting at 1', example: 1 }),
    lease_expires_at: timestamp.meta({
      description: 'Handed over again after this unless acknowledged; Unix seconds',
      example: 1790000035,
    }),
  })
  .meta({ id: 'Command', description: 'What a game server is to do' });

const interval = (description: string) => z.int().meta({ description, example: 15 });

const DELIVERY =
  'A command is leased to its server, for 30 s to a poll and for at least twice the interval to a heartbeat, and handed over again until it is acknowledged or expires: do it at most once by remembering its `command_id`.';

/** Game servers, and what they are told. */
export const serverRows = {
  beatServer: route({
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
      max_players: count(100_000, 'Players that it has room for', 30),
      universe_id: optional(universeId),
      players: optional(listOf(z.object({ game_id: gameId, username: optional(gameUsername) }), 200)),
      fps: optional(
        z
          .number({ error: 'must be a number' })
          .min(0, { error: 'must be at least 0' })
          .max(100_000, { error: 'must be at most 100000' }),
      ).meta({ description: 'Frames a second', example: 59.9 }),
      age_seconds: optional(seconds('How long the server has run', 3600)),
      plugin_version: optional(pluginVersion),
      acks: optional(listOf(z.object({ command_id: uuid, ...ackFields }), MOST_COMMANDS)).meta({
        description: 'What became of commands; those that are unknown or acknowledged already are passed over',
      }),
      final: optional(z.boolean({ error: 'must be true or false' })).meta({
        description: 'Whether the server is shutting down: it is no longer live and gets no commands',
      }),
    }),
    data: z.object({
      server_time: timestamp,
      next_heartbeat_seconds: interval('When to send the next one; grows with the number of live servers'),
      commands: z.array(command).meta({ description: 'Up to 20, the oldest first' }),
    }),
    status: 200,
    message: 'Heartbeat received',
    summary: 'Says that a server lives, acknowledges commands and takes new ones',
    description: `A server is live until 3 times the interval that it was told has passed, or until \`final\`. ${DELIVERY}`,
    writes: false,
    errors: {
      NOT_APPLICABLE: NO_SERVER_ID,
      QUOTA_EXCEEDED: 'The guild has as many live servers as it may (2,000 unless configured otherwise)',
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
      limit: wholeNumber(1, MOST_COMMANDS, 20).meta({ description: 'Commands at once; 20 when left out', example: 20 }),
      wait: wholeNumber(0, LONGEST_WAIT_SECONDS, 0).meta({
        description: 'Seconds to wait for the first command; 0 when left out',
        example: 25,
      }),
    }),
    data: z.object({
      commands: z.array(command).meta({ description: 'The oldest first' }),
      poll_after_seconds: interval('When to poll again, where not with `wait`; grows with the number of live servers'),
    }),
    status: 200,
    message: 'Commands polled',
    summary: 'Takes commands, waiting for them if there are none yet',
    description: `A server that we have not heard of reads as one without commands. ${DELIVERY}`,
    writes: false,
    longPoll: { whenEnded: { commands: [], poll_after_seconds: SHORTEST_INTERVAL_SECONDS } },
  }),
  acknowledgeCommand: route({
    method: 'POST',
    path: '/game/servers/:serverId/commands/:commandId/ack',
    scope: 'server:write',
    category: 'server_ack',
    guild: 'body',
    params: z.object({
      serverId: namedServerId,
      commandId: uuid.meta({ description: 'The command', example: '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11' }),
    }),
    body: z.object({ guild_id: guildId, ...ackFields }),
    data: z.object({
      command_id: uuidOut.meta({ example: '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11' }),
      status: ackStatus,
      acked_at: timestamp,
    }),
    status: 200,
    message: 'Command acknowledged',
    summary: 'Says what became of a command; the same again changes nothing',
    writes: true,
    errors: {
      NOT_FOUND: 'No such command for this server',
      CONFLICT: 'The command was acknowledged with another status',
    },
  }),
};

/** A whole number in a query string. */
function wholeNumber(min: number, max: number, fallback: number) {
  return z
    .string()
    .refine((value) => /^[0-9]{1,3}$/.test(value) && Number(value) >= min && Number(value) <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number)
    .pipe(z.number())
    .default(fallback)
    .meta({ type: 'integer', minimum: min, maximum: max });
}
