import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import { type IdempotentWrite, StoredResponse, type WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { ModerationServiceService } from '#proto/gen/guild/moderation/v1/moderation.ts';
import { MAX_DURATION_SECONDS, reasonText } from '#proto/rest/moderation/schemas.ts';
import { batch, chatId, gameId, guildId, text } from '#proto/rest/schemas.ts';
import { namedServerId } from '#proto/rest/server-id.ts';
import type { Decisions } from '../domain/decisions.ts';
import type { Standings } from '../domain/standings.ts';
import { orNull } from './schemas.ts';
import { punishmentMessage } from './views.ts';

const kind = z.enum(['ban', 'mute'], { error: 'must be ban or mute' });

const decider = {
  moderatorGameId: orNull(gameId),
  moderatorChatId: orNull(chatId),
  sourceServerId: orNull(namedServerId),
};

const getStatus = z.object({
  guildId,
  gameIds: batch(gameId),
  placeId: orNull(gameId),
  noCache: z.boolean(),
});
const punish = z.object({
  guildId,
  kind,
  gameId,
  gameUsername: orNull(text(1, 50)),
  reason: reasonText,
  durationSeconds: orNull(z.int().min(1).max(MAX_DURATION_SECONDS)),
  placeId: orNull(gameId),
  replace: z.boolean(),
  ...decider,
});
const lift = z
  .object({
    guildId,
    kind,
    gameId,
    reason: orNull(reasonText),
    scope: z.enum(['global', 'place'], { error: 'must be global or place' }).optional(),
    placeId: orNull(gameId),
    ...decider,
  })
  .refine(({ scope, placeId }) => (scope === 'place') === (placeId !== null), {
    path: ['placeId'],
    error: 'goes with scope place, which needs it',
  });

export interface ModerationMethodsOptions {
  standings: Standings;
  decisions: Decisions;
  clock: Clock;
}

/** The gRPC methods of guild.moderation.v1.ModerationService. */
export function moderationMethods({
  standings,
  decisions,
  clock,
}: ModerationMethodsOptions): GrpcHandlers<typeof ModerationServiceService> {
  return {
    async getStatus(message) {
      const found = await standings.find(checked(getStatus, message, 'request'));
      const now = clock.now();
      const players = [...found].map(([gameId, standing]) => {
        const [ban, mute] = [standing.punishment('ban', now), standing.punishment('mute', now)];
        return {
          gameId,
          ban: ban && punishmentMessage(ban),
          mute: mute && punishmentMessage(mute),
          flagged: standing.entry(now) !== undefined,
        };
      });
      return { players };
    },
    async punish(message) {
      const { guildId, replace, ...punishment } = checked(punish, message, 'request');
      const outcome = await decisions.punish(writeWithoutKey(guildId), punishment, replace, punishmentMessage);
      return { punishment: dataOf(outcome) };
    },
    async lift(message) {
      const { guildId, scope, placeId, ...request } = checked(lift, message, 'request');
      const place = scope === undefined ? undefined : placeId;
      const newLift = { ...request, placeId: place };
      const outcome = await decisions.lift(writeWithoutKey(guildId), newLift, punishmentMessage);
      return { punishment: dataOf(outcome) };
    },
  };
}

/**
 * Returns the write of a gRPC call, which has no idempotency key. gRPC calls are safe to repeat: a second ban is a
 * CONFLICT, a second unban NOT_FOUND.
 */
const writeWithoutKey = (guildId: string): IdempotentWrite => ({
  guildId,
  method: '',
  path: '',
  key: undefined,
  bodyHash: Buffer.alloc(0),
  status: 200,
  message: '',
});

function dataOf<Data>(outcome: WriteOutcome<Data>): Data {
  if (outcome instanceof StoredResponse) throw new Error('a write without an idempotency key was replayed');
  return outcome.data;
}
