import { z } from 'zod';
import { route } from '../route.ts';
import { gameId, gameIdOut, guildId, nextCursor, page } from '../schemas.ts';
import { namedServerId } from '../server-id.ts';
import { gameServer } from './records.ts';
import { placeId } from './shapes.ts';

const player = z
  .object({
    game_id: gameIdOut,
    username: z
      .string()
      .nullable()
      .meta({ description: 'Username in the game; null if it was not reported', example: 'AdaBuilds' }),
  })
  .meta({ id: 'ServerPlayer', description: 'A player on a game server' });

const gameServerWithPlayers = gameServer
  .extend({
    players: z
      .array(player)
      .nullable()
      .meta({ description: 'Players in the last heartbeat; null if the server did not report them' }),
  })
  .meta({
    id: 'GameServerWithPlayers',
    description: 'A game server and its players, as its last heartbeat described them',
  });

const reads = { method: 'GET', scope: 'server:read', category: 'activity_read', guild: 'path', writes: false } as const;

/** Routes that read what game servers reported. */
export const serverReadRows = {
  listServers: route({
    ...reads,
    path: '/guilds/:guildId/servers',
    params: z.object({ guildId }),
    query: z.object({
      ...page,
      place_id: placeId.optional().meta({ description: 'Only servers of this place' }),
    }),
    data: z.object({ servers: z.array(gameServer), next_cursor: nextCursor }),
    status: 200,
    message: 'Servers listed',
    summary: 'List live game servers',
    description: 'As of their last heartbeats, ordered by ID.',
  }),
  getServer: route({
    ...reads,
    path: '/guilds/:guildId/servers/:serverId',
    params: z.object({ guildId, serverId: namedServerId }),
    data: gameServerWithPlayers,
    status: 200,
    message: 'Server read',
    summary: 'Get a live game server',
    description: 'A live server with its players, as of its last heartbeat.',
    errors: { NOT_FOUND: 'No such live server in this guild' },
  }),
  findPlayerServer: route({
    ...reads,
    path: '/guilds/:guildId/players/:gameId/server',
    params: z.object({ guildId, gameId }),
    data: z.object({
      server: gameServer.nullable().meta({ description: 'The server; null if no live server reports the player' }),
    }),
    status: 200,
    message: "Player's server read",
    summary: "Find a player's game server",
    description:
      'The live server whose heartbeat named the player last. Only servers that send `players` with their heartbeats are searched.',
  }),
};
