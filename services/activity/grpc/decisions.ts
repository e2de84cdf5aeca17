import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { DecisionServiceService } from '#proto/gen/guild/activity/v1/commands.ts';
import { gameId, text, uuid } from '#proto/rest/schemas.ts';
import { namedServerId } from '#proto/rest/server-id.ts';
import type { Commands } from '../domain/commands.ts';
import { commandFields, commandOf, commandSchemas, MAX_TIMESTAMP } from './command-message.ts';

const timestamp = z.int().min(0).max(MAX_TIMESTAMP);

const deliverDecision = z.object({
  ...commandSchemas,
  event_id: uuid,
  issued_by: text(1, 100).optional(),
  source_server_id: namedServerId.optional(),
  place_id: gameId.optional(),
  created_at: timestamp,
  expires_at: timestamp.optional(),
});

/** The methods of the gRPC service guild.activity.v1.DecisionService, which the moderation service calls. */
export function decisionMethods(commands: Commands): GrpcHandlers<typeof DecisionServiceService> {
  return {
    async deliverDecision(message) {
      const fields = {
        ...commandFields(message),
        event_id: message.eventId,
        issued_by: message.issuedBy,
        source_server_id: message.sourceServerId,
        place_id: message.placeId,
        created_at: message.createdAt,
        expires_at: message.expiresAt,
      };
      const request = checked(deliverDecision, fields, 'request');
      const decision = {
        eventId: request.event_id,
        placeId: request.place_id,
        sourceServerId: request.source_server_id,
        decidedAt: new Date(request.created_at * 1000),
        expiresAt: request.expires_at === undefined ? undefined : new Date(request.expires_at * 1000),
      };
      return { servers: await commands.deliver(request.guild_id, decision, commandOf(request, request.issued_by)) };
    },
  };
}
