import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { PlayerServiceService } from '#proto/gen/guild/activity/v1/players.ts';
import { gameId, guildId } from '#proto/rest/schemas.ts';
import type { Players } from '../domain/players.ts';
import { gameServerMessage, staffSessionMessage } from './views.ts';

const findPlayer = z.object({ guildId, gameId, withSession: z.boolean(), withServer: z.boolean() });

/** The methods of the gRPC service guild.activity.v1.PlayerService, which the moderation service calls. */
export function playerMethods(players: Players): GrpcHandlers<typeof PlayerServiceService> {
  return {
    async findPlayer(message) {
      const { guildId: guild, gameId: player, ...parts } = checked(findPlayer, message, 'request');
      const { session, server } = await players.find(guild, player, parts);
      return { session: session && staffSessionMessage(session), server: server && gameServerMessage(server) };
    },
  };
}
