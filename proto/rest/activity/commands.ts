import { z } from 'zod';
import { route } from '../route.ts';
import { exactlyOneOf, guildId, nextCursor, optional, page, timestamp, uuid, uuidOut } from '../schemas.ts';
import { serverId } from '../server-id.ts';
import { checkedByType, commandPayload, commandTarget, MAX_PAYLOAD_BYTES } from './command-payloads.ts';
import { COMMAND_STATES, commandRecord, commandServer } from './records.ts';
import { commandType, NO_SERVER_ID, placeId } from './shapes.ts';

/** The longest lifetime of a command. */
export const MAX_TTL_SECONDS = 7 * 24 * 3600;

const COMMAND_ID = '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11';
const WRONG_TTL = `must be a whole number from 1 to ${MAX_TTL_SECONDS}`;

const guild = z.object({ guildId });
const oneCommand = guild.extend({ commandId: uuid.meta({ description: 'Command ID', example: COMMAND_ID }) });
const noSuchCommand = { NOT_FOUND: 'The guild has no such command' };

const body = z
  .object({
    type: commandType,
    all: optional(
      z.literal(true, { error: 'must be true' }).meta({ id: 'AllServers', description: 'For every live server' }),
    ),
    server_id: optional(serverId).meta({ description: 'For this server, live or not' }),
    place_id: optional(placeId).meta({ description: 'For every live server of this place' }),
    target: optional(commandTarget).meta({
      description: 'Player whom the command concerns; required for `kick`, `ban`, `unban`, `mute`, `unmute`, `message`',
      example: { game_id: 7001, game_username: 'AdaBuilds' },
    }),
    payload: optional(commandPayload).meta({
      description: `Parameters, by type. At most ${MAX_PAYLOAD_BYTES} bytes as JSON; further fields reach the servers unchanged`,
      example: { reason: 'spam' },
    }),
    ttl_seconds: optional(
      z.int({ error: WRONG_TTL }).min(1, { error: WRONG_TTL }).max(MAX_TTL_SECONDS, { error: WRONG_TTL }),
    ).meta({
      description: 'Lifetime; if omitted, 4 times the heartbeat interval of the servers and at least 120 s',
      example: 300,
    }),
  })
  .refine(...exactlyOneOf('all', 'server_id', 'place_id'));

/** Routes for a guild's own systems: they send commands to game servers and read what became of them. */
export const commandRows = {
  sendCommand: route({
    method: 'POST',
    path: '/guilds/:guildId/commands',
    scope: 'commands:write',
    category: 'commands_write',
    guild: 'path',
    params: guild,
    body: checkedByType(body),
    data: z.object({
      command_id: uuidOut.meta({ description: 'Command ID', example: COMMAND_ID }),
      servers: z.int().min(0).meta({ description: 'Servers that the command is for', example: 3 }),
      expires_at: timestamp.meta({ description: 'It is not delivered after this' }),
    }),
    status: 201,
    message: 'Command sent',
    summary: 'Send a command to game servers',
    description:
      'For one server, or the live servers of a place or of the guild; never for servers that become live later. If none is live, the command has no servers. `ban` and `mute` only notify game servers and write no ban.',
    writes: true,
    errors: {
      NOT_FOUND: 'The guild has no server with this `server_id`: none has sent a heartbeat within the last hour',
      CONFLICT:
        '1,000 commands are waiting for the server, 1,000 for several servers are open, or those of today (UTC) were for 5,000,000 servers in all',
      NOT_APPLICABLE: NO_SERVER_ID,
    },
  }),
  listCommands: route({
    method: 'GET',
    path: '/guilds/:guildId/commands',
    scope: 'commands:read',
    category: 'activity_read',
    guild: 'path',
    params: guild,
    query: z.object({
      state: z
        .enum(COMMAND_STATES, { error: `must be one of ${COMMAND_STATES.join(', ')}` })
        .optional()
        .meta({ description: 'Only commands in this state', example: 'open' }),
      ...page,
    }),
    data: z.object({
      commands: z.array(commandRecord).meta({ description: 'Newest first' }),
      next_cursor: nextCursor,
    }),
    status: 200,
    message: 'Commands listed',
    summary: 'List commands',
    description:
      'With outcomes, also those of operators and of bans and mutes, for 7 days after their end. An expired command is listed with `state=finished` within 5 s.',
    writes: false,
  }),
  getCommand: route({
    method: 'GET',
    path: '/guilds/:guildId/commands/:commandId',
    scope: 'commands:read',
    category: 'activity_read',
    guild: 'path',
    params: oneCommand,
    query: z.object(page),
    data: z.object({
      ...commandRecord.shape,
      servers: z.array(commandServer).meta({ description: 'A page of its servers, ordered by ID' }),
      next_cursor: nextCursor,
    }),
    status: 200,
    message: 'Command found',
    summary: 'Get a command and its servers',
    description:
      'A server that has not received the command is listed as long as it is stored: an hour after it was live.',
    writes: false,
    errors: noSuchCommand,
  }),
  cancelCommand: route({
    method: 'DELETE',
    path: '/guilds/:guildId/commands/:commandId',
    scope: 'commands:write',
    category: 'commands_write',
    guild: 'path',
    params: oneCommand,
    data: z.object({
      cancelled: z.int().min(0).meta({ description: 'Servers that will not receive it', example: 2 }),
    }),
    status: 200,
    message: 'Command cancelled',
    summary: 'Cancel a command',
    description: 'Servers that have received it may still execute and acknowledge it.',
    writes: true,
    errors: noSuchCommand,
  }),
};
