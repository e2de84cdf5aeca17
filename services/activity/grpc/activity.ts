import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { DecisionServiceService } from '#proto/gen/guild/activity/v1/commands.ts';
import { COMMAND_TYPES } from '#proto/rest/activity/shapes.ts';
import { gameId, guildId, text, uuid } from '#proto/rest/schemas.ts';
import { namedServerId } from '#proto/rest/server-id.ts';
import type { Commands } from '../domain/commands.ts';

const MAX_PAYLOAD_BYTES = 8 * 1024;
const LATEST = 99_999_999_999;

const payload = z
  .string()
  .refine((value) => Buffer.byteLength(value) <= MAX_PAYLOAD_BYTES, { error: 'must have at most 8 KiB' })
  .transform((value, context) => {
    const object = readObject(value || '{}');
    if (object) return object;
    context.addIssue({ code: 'custom', message: 'must be a JSON object' });
    return z.NEVER;
  });

const type = z.enum(COMMAND_TYPES, { error: `must be one of ${COMMAND_TYPES.join(', ')}` });
const target = z.object({ game_id: gameId, game_username: text(1, 50).optional() }).optional();
const timestamp = z.int().min(0).max(LATEST);

/** What every message that sends a command has; see `commandFields`. */
export const commandSchema = { guild_id: guildId, type, target, payload };

const decision = z.object({
  ...commandSchema,
  event_id: uuid,
  issued_by: text(1, 100).optional(),
  source_server_id: namedServerId.optional(),
  place_id: gameId.optional(),
  created_at: timestamp,
  expires_at: timestamp.optional(),
});

/** What other services call. */
export function decisionMethods(commands: Commands): GrpcHandlers<typeof DecisionServiceService> {
  return {
    async deliverDecision(message) {
      const asked = checked(
        decision,
        {
          ...commandFields(message),
          event_id: message.eventId,
          issued_by: message.issuedBy,
          source_server_id: message.sourceServerId,
          place_id: message.placeId,
          created_at: message.createdAt,
          expires_at: message.expiresAt,
        },
        'request',
      );
      const reach = {
        eventId: asked.event_id,
        placeId: asked.place_id,
        sourceServerId: asked.source_server_id,
        decidedAt: new Date(asked.created_at * 1000),
        expiresAt: asked.expires_at === undefined ? undefined : new Date(asked.expires_at * 1000),
      };
      return { servers: await commands.deliver(asked.guild_id, reach, commandOf(asked, asked.issued_by)) };
    },
  };
}

interface CommandMessage {
  guildId: string;
  type: string;
  target?: { gameId: number; gameUsername?: string | undefined } | undefined;
  payload: string;
}

/** What every message that sends a command has, under the names that faults are reported by. */
export function commandFields({ guildId: guild, type: what, target: about, payload: details }: CommandMessage) {
  const target = about && { game_id: about.gameId, game_username: about.gameUsername };
  return { guild_id: guild, type: what, target, payload: details };
}

export function commandOf(
  asked: Pick<z.output<typeof decision>, 'type' | 'target' | 'payload'>,
  issuedBy: string | undefined,
) {
  const about = asked.target && { gameId: asked.target.game_id, gameUsername: asked.target.game_username };
  return { type: asked.type, target: about, payload: asked.payload, issuedBy };
}

function readObject(value: string): Record<string, unknown> | undefined {
  try {
    const read: unknown = JSON.parse(value);
    const isObject = typeof read === 'object' && read !== null && !Array.isArray(read);
    return isObject ? (read as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
