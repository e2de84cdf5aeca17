import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc.ts';
import { checked } from '#kit/validate.ts';
import type { CommandAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import type { DecisionServiceService } from '#proto/gen/guild/activity/v1/commands.ts';
import { COMMAND_TYPES } from '#proto/rest/activity/shapes.ts';
import { gameId, guildId, text, uuid } from '#proto/rest/schemas.ts';
import { namedServerId } from '#proto/rest/server-id.ts';
import type { Commands } from './domain/commands.ts';
import { adminView } from './views.ts';

const MAX_PAYLOAD_BYTES = 8 * 1024;
const LONGEST_TTL_SECONDS = 7 * 24 * 3600;
const MOST_LISTED = 1_000;
const USUALLY_LISTED = 100;
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

const decision = z.object({
  guild_id: guildId,
  event_id: uuid,
  type,
  target,
  payload,
  issued_by: text(1, 100).optional(),
  source_server_id: namedServerId.optional(),
  place_id: gameId.optional(),
  created_at: timestamp,
  expires_at: timestamp.optional(),
});

const servers = z.discriminatedUnion(
  '$case',
  [
    z.object({ $case: z.literal('serverId'), value: namedServerId }).transform(({ value }) => ({ serverId: value })),
    z.object({ $case: z.literal('placeId'), value: gameId }).transform(({ value }) => ({ placeId: value })),
    z.object({ $case: z.literal('all'), value: z.literal(true) }).transform(() => ({ all: true as const })),
  ],
  { error: 'must be a server, a place or all' },
);

const enqueue = z.object({
  guild_id: guildId,
  servers,
  type,
  target,
  payload,
  ttl: z
    .int()
    .min(1)
    .max(LONGEST_TTL_SECONDS, { error: `must be 1 to ${LONGEST_TTL_SECONDS} seconds` })
    .optional(),
  actor: text(1, 100),
});

const list = z.object({ guild_id: guildId, limit: z.int().min(0).max(MOST_LISTED) });

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

/** What guildctl calls. */
export function commandAdminMethods(commands: Commands, clock: Clock): GrpcHandlers<typeof CommandAdminServiceService> {
  return {
    async enqueueCommands(message) {
      const { servers: to, ttlSeconds: ttl, actor } = message;
      const asked = checked(enqueue, { ...commandFields(message), servers: to, ttl, actor }, 'request');
      const command = commandOf(asked, asked.actor);
      return commands.enqueue(asked.guild_id, asked.servers, command, asked.ttl);
    },
    async listCommands(message) {
      const asked = checked(list, { guild_id: message.guildId, limit: message.limit }, 'request');
      const listed = await commands.list(asked.guild_id, asked.limit || USUALLY_LISTED);
      return { commands: listed.map((command) => adminView(command, clock.now())) };
    },
  };
}

interface CommandMessage {
  guildId: string;
  type: string;
  target?: { gameId: number; gameUsername?: string | undefined } | undefined;
  payload: string;
}

/** What every message that makes commands has, named as its caller is told of faults. */
function commandFields({ guildId: guild, type: what, target: about, payload: details }: CommandMessage) {
  const target = about && { game_id: about.gameId, game_username: about.gameUsername };
  return { guild_id: guild, type: what, target, payload: details };
}

function commandOf(
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
