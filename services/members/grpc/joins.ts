import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { JoinServiceService } from '#proto/gen/guild/members/v1/joins.ts';
import { chatId, guildId } from '#proto/rest/schemas.ts';
import type { OAuthJoins } from '../domain/oauth-joins.ts';

const checkJoin = z.object({ guildId });
const addMember = z.object({
  guildId,
  chatId,
  username: z.string().max(100),
  accessToken: z.string().min(1).max(4_096),
});

/** The gRPC methods of guild.members.v1.JoinService. */
export function joinMethods(joins: OAuthJoins): GrpcHandlers<typeof JoinServiceService> {
  return {
    async checkJoin(message) {
      await joins.check(checked(checkJoin, message, 'request').guildId);
      return {};
    },
    async addMember(message) {
      return { joined: await joins.add(checked(addMember, message, 'request')) };
    },
  };
}
