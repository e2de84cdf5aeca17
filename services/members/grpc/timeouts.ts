import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { ChatChange } from '#platforms/chat.ts';
import {
  ChangeTimeoutResponse_Outcome as Outcome,
  type TimeoutServiceService,
} from '#proto/gen/guild/members/v1/timeouts.ts';
import { chatId, guildId } from '#proto/rest/schemas.ts';
import type { Timeouts } from '../domain/timeouts.ts';

const MAX_CHANGES = 1_000;
/** The chat platform shows at most this many characters of a reason. */
const MAX_REASON = 512;

const listChanges = z.object({
  after: z.int().min(0),
  limit: z.int().min(1).max(MAX_CHANGES),
  guildId: z.union([z.literal(''), guildId]),
});
const getTimeout = z.object({ guildId, chatId });
const changeTimeout = z.object({
  guildId,
  chatId,
  untilMs: z.int().min(1).optional(),
  reason: z.string().max(MAX_REASON),
});

const OUTCOMES: Record<ChatChange, Outcome> = {
  done: Outcome.OUTCOME_DONE,
  'no such member': Outcome.OUTCOME_NO_SUCH_MEMBER,
  'not permitted': Outcome.OUTCOME_NOT_PERMITTED,
  // The platform says this only about roles.
  'no such role': Outcome.OUTCOME_NOT_PERMITTED,
};

/** The gRPC methods of guild.members.v1.TimeoutService. */
export function timeoutMethods(timeouts: Timeouts): GrpcHandlers<typeof TimeoutServiceService> {
  return {
    async listTimeoutChanges(message) {
      return timeouts.changes(checked(listChanges, message, 'request'));
    },
    async getTimeout(message) {
      const { guildId, chatId } = checked(getTimeout, message, 'request');
      const member = await timeouts.member(guildId, chatId);
      return { isMember: member !== null, untilMs: member?.timeoutUntil?.getTime() };
    },
    async changeTimeout(message) {
      const { untilMs, ...change } = checked(changeTimeout, message, 'request');
      const until = untilMs === undefined ? null : new Date(untilMs);
      return { outcome: OUTCOMES[await timeouts.change({ ...change, until })] };
    },
  };
}
