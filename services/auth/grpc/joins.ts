import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { ConsoleServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { guildId } from '#proto/rest/schemas.ts';
import type { Joins } from '../domain/sign-in/joins.ts';

const start = z.object({ guildId, address: z.string().min(1).max(64) });
const finish = z.object({ query: z.string().max(8_192), browserSecret: z.string().max(100) });

/** The methods of the gRPC service ConsoleService with which persons join a guild. */
export function joinHandlers(
  joins: Joins,
): Pick<GrpcHandlers<typeof ConsoleServiceService>, 'startJoin' | 'finishJoin'> {
  return {
    startJoin: async (message) => joins.start(checked(start, message, 'request')),
    finishJoin: async (message) => ({ guildId: await joins.finish(checked(finish, message, 'request')) }),
  };
}
