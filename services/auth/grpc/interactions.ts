import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { InteractionServiceService } from '#proto/gen/guild/auth/v1/interactions.ts';
import { chatId, guildId } from '#proto/rest/schemas.ts';
import type { Interactions } from '../domain/interactions/interactions.ts';

const MAX_OPTIONS = 25;
const snowflake = z.string().regex(/^[1-9][0-9]{16,19}$/);

const acceptRequest = z.object({
  guildId,
  interactionId: snowflake,
  applicationId: snowflake,
  token: z.string().min(1).max(1_000),
  chatId,
  permissions: z.string().regex(/^[0-9]{1,30}$/),
  command: z.string().min(1).max(32),
  options: z
    .array(z.object({ name: z.string().min(1).max(32), value: z.string().max(6_000) }))
    .max(MAX_OPTIONS)
    .transform((all) => Object.fromEntries(all.map(({ name, value }) => [name, value.toWellFormed()]))),
});

/** The methods of the gRPC service InteractionService, which gateways call. */
export function interactionMethods(
  interactions: Pick<Interactions, 'accept'>,
): GrpcHandlers<typeof InteractionServiceService> {
  return {
    acceptInteraction: async (message) => {
      const { interactionId: id, ...request } = checked(acceptRequest, message);
      return { outcome: await interactions.accept({ id, ...request }) };
    },
  };
}
