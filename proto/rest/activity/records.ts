import { z } from 'zod';
import { gameIdOut, timestamp, uuidOut } from '../schemas.ts';
import { command } from './servers.ts';
import { ACK_STATUSES, commandType } from './shapes.ts';

export const COMMAND_STATES = ['open', 'finished', 'cancelled'] as const;

/** The states of a command on one server: before an acknowledgement, without one, and the status of one. */
export const COMMAND_SERVER_STATES = ['queued', 'leased', 'expired', 'cancelled', ...ACK_STATUSES] as const;

const placeIdOut = gameIdOut.meta({ description: 'Place ID of the game', example: 40001 });
const serverIdOut = z
  .string()
  .meta({ description: 'ID of the game server', example: 'c9f1d1a0-7a54-4f5e-9f0b-3a4e8a1d2c77' });
const servers = (description: string, example: number) => z.int().min(0).meta({ description, example });

/** A game server, as its last heartbeat described it. */
export const gameServer = z
  .object({
    server_id: serverIdOut,
    place_id: placeIdOut,
    universe_id: gameIdOut.nullable().meta({ description: 'Universe ID of the game', example: 30001 }),
    player_count: servers('Players on the server', 12),
    max_players: servers('Maximum number of players on the server', 30),
    fps: z.number().nullable().meta({ description: 'Frames per second of the server', example: 59.9 }),
    plugin_version: z.string().nullable().meta({ description: 'Version of the plugin', example: '2.4.0' }),
    started_at: timestamp.nullable().meta({ description: 'Start of the server; null if it was not reported' }),
    heartbeat_at: timestamp.meta({ description: 'The last heartbeat' }),
    live_until: timestamp.meta({ description: 'Until then it counts as live without another heartbeat' }),
  })
  .meta({ id: 'GameServer', description: 'A game server, as its last heartbeat described it' });

/** A staff session. */
export const staffSession = z
  .object({
    session_id: uuidOut,
    game_id: gameIdOut,
    game_username: z.string().nullable().meta({ description: 'Username in the game', example: 'AdaBuilds' }),
    place_id: placeIdOut,
    server_id: serverIdOut,
    started_at: timestamp,
    ended_at: timestamp.nullable().meta({ description: 'End of the session; null while it is open', example: null }),
    idle_seconds: z.int().meta({ description: 'The last reported total of idle seconds', example: 12 }),
    end_reason: z
      .string()
      .nullable()
      .meta({ description: 'Reason why it ended; `missed beats` if its heartbeats stopped', example: null }),
  })
  .meta({ id: 'StaffSession', description: 'A session of a staff member on a game server' });

/** A logged staff action. */
export const staffAction = z
  .object({
    id: uuidOut.meta({ description: 'The `action_id`', example: 'f3b0c442-98fc-4c14-9afb-f4c8996fb924' }),
    actor_game_id: gameIdOut.meta({ description: 'Game account ID of the staff member', example: 7001 }),
    action_type: z.string().meta({ description: 'Name of the action', example: 'kick' }),
    target_game_id: gameIdOut
      .nullable()
      .meta({ description: 'Game account ID of the player concerned', example: 7004 }),
    place_id: placeIdOut.nullable(),
    server_id: serverIdOut.nullable(),
    details: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'Additional data', example: { reason: 'spam' } }),
    occurred_at: timestamp.meta({ description: 'When it was done' }),
    created_at: timestamp.meta({ description: 'When it was logged' }),
  })
  .meta({ id: 'StaffAction', description: 'A logged action of a staff member' });

/** A command to game servers, with the number of servers by outcome. */
export const commandRecord = z
  .object({
    command_id: uuidOut.meta({ description: 'Command ID', example: '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11' }),
    type: commandType,
    target: command.shape.target,
    payload: command.shape.payload,
    issued_by: command.shape.issued_by,
    server_id: serverIdOut.nullable().meta({ description: 'The one server that it is for; null if it is for several' }),
    place_id: placeIdOut
      .nullable()
      .meta({ description: 'The place whose servers it is for; null for one server or every place', example: null }),
    state: z
      .enum(COMMAND_STATES)
      .meta({ id: 'CommandState', description: 'Whether servers may still execute it', example: 'finished' }),
    created_at: timestamp,
    expires_at: timestamp.meta({ description: 'It is not delivered after this' }),
    cancelled_at: timestamp.nullable().meta({ description: 'When it was cancelled', example: null }),
    outcome: z
      .object({
        servers: servers('Servers that it is for', 3),
        delivered: servers('Servers that received it', 3),
        succeeded: servers('Servers that acknowledged it with `success`', 2),
        failed: servers('Servers that acknowledged it with `failed`', 0),
        rejected: servers('Servers that acknowledged it with `rejected`', 1),
        expired: servers('Servers that did not acknowledge it in time', 0),
        cancelled: servers('Servers that did not receive it, because it was cancelled', 0),
      })
      .meta({ id: 'CommandOutcome', description: 'Servers by outcome' }),
  })
  .meta({ id: 'CommandRecord', description: 'A command to game servers and its outcome' });

/** The state of a command on one game server. */
export const commandServer = z
  .object({
    server_id: serverIdOut,
    state: z.enum(COMMAND_SERVER_STATES).meta({
      description:
        '`queued` or `leased` while it waits for an acknowledgement, then the acknowledged status, `expired` or `cancelled`',
      example: 'success',
    }),
    attempt: z.int().min(0).meta({ description: 'Deliveries', example: 1 }),
    acked_at: timestamp.nullable().meta({ description: 'When it was acknowledged' }),
    result: z.unknown().meta({ description: 'Result that the server reported, or null', example: { kicked: true } }),
    error: z.string().nullable().meta({ description: 'Error that the server reported', example: null }),
  })
  .meta({ id: 'CommandServer', description: 'The state of a command on one game server' });
