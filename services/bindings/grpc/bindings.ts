import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { BindingAdminServiceService } from '#proto/gen/guild/bindings/v1/admin.ts';
import { Authority, type BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import { MAX_CONDITIONS } from '#proto/rest/bindings.ts';
import { chatId, gameId, guildId, numberId } from '#proto/rest/schemas.ts';
import { MAX_BINDINGS } from '../domain/binding.ts';
import type { Bindings } from '../domain/bindings.ts';
import type { Evaluation } from '../domain/evaluation.ts';
import type { Planner } from '../domain/plan.ts';
import { authorityOf, bindingMessage, bindingOf, conditionOf, nicknameFields, roleVerdictMessage } from './views.ts';

const MAX_MEMBERS = 100;

const rank = z.int().min(0).max(255);
const target = z.discriminatedUnion('$case', [
  z.object({
    $case: z.literal('groupRank'),
    value: z.object({ gameGroupId: numberId('a group ID'), minRank: rank, maxRank: rank }),
  }),
  z.object({ $case: z.literal('gamepassId'), value: numberId('a gamepass ID') }),
  z.object({ $case: z.literal('assetId'), value: numberId('an asset ID') }),
  z.object({ $case: z.literal('badgeId'), value: numberId('a badge ID') }),
  z.object({
    $case: z.literal('accountAge'),
    value: z.object({ platform: z.enum(['chat', 'game']), minDays: z.int().min(0) }),
  }),
  z.object({ $case: z.literal('linked'), value: z.boolean() }),
]);
const conditions = z.array(z.object({ target })).max(MAX_CONDITIONS, { error: `must hold at most ${MAX_CONDITIONS}` });
const authority = z.enum(Authority);
const plannedBinding = z
  .object({
    id: z.int().min(0),
    chatRoleId: chatId,
    priority: z.int().optional(),
    target,
    conditions,
    authority,
    nicknameTemplate: z.string().optional(),
  })
  .transform(bindingOf);
const changedBinding = z
  .object({
    bindingId: numberId('a binding ID'),
    minRank: rank.optional(),
    maxRank: rank.optional(),
    authority: authority.optional(),
    conditions: z.object({ conditions }).optional(),
  })
  .transform((change) => ({
    ...change,
    authority: change.authority === undefined ? undefined : (authorityOf(change.authority) ?? undefined),
    conditions: change.conditions?.conditions.map(conditionOf),
  }));
const planBinding = z.object({
  guildId,
  plan: z.discriminatedUnion('$case', [
    z.object({ $case: z.literal('added'), value: plannedBinding }),
    z.object({ $case: z.literal('changed'), value: changedBinding }),
    z.object({ $case: z.literal('removedBindingId'), value: numberId('a binding ID') }),
  ]),
});

/** The ID of a game account in a message if none is linked. */
const NO_ACCOUNT = z.literal(0).transform(() => null);

const listBindings = z.object({ guildId });
const evaluate = z.object({
  guildId,
  members: z
    .array(z.object({ chatId, gameId: gameId.or(NO_ACCOUNT) }))
    .max(MAX_MEMBERS, { error: `must hold at most ${MAX_MEMBERS} members` })
    .refine((members) => new Set(members.map(({ chatId }) => chatId)).size === members.length, {
      error: 'must hold each member once',
    }),
  chatRoleIds: z.array(chatId).max(MAX_BINDINGS, { error: `must hold at most ${MAX_BINDINGS} roles` }),
  rolesOnly: z.boolean(),
  withoutOwnershipRoleIds: z.array(chatId).max(MAX_BINDINGS, { error: `must hold at most ${MAX_BINDINGS} roles` }),
  withNames: z.boolean(),
  planned: plannedBinding.optional(),
  withNickname: z.boolean(),
  maxRankAgeMs: z.int().min(0).optional(),
  removedBindingId: numberId('a binding ID').optional(),
  maxOwnershipAgeMs: z.int().min(0).optional(),
});

const showBindings = z.object({ guildId, bindingId: numberId('a binding ID').optional() });

/** Returns the handlers of guild.bindings.v1.BindingAdminService, whose methods guildctl calls. */
export function bindingAdminMethods(bindings: Bindings): GrpcHandlers<typeof BindingAdminServiceService> {
  return {
    async showBindings(message) {
      const { guildId, bindingId } = checked(showBindings, message);
      const found = bindingId === undefined ? await bindings.stored(guildId) : [await bindings.get(guildId, bindingId)];
      return { bindings: found.map(bindingMessage) };
    },
  };
}

export interface BindingsMethodsOptions {
  bindings: Bindings;
  evaluation: Evaluation;
  planner: Planner;
}

/** Returns the handlers of the gRPC service guild.bindings.v1.BindingsService. */
export function bindingsMethods({
  bindings,
  evaluation,
  planner,
}: BindingsMethodsOptions): GrpcHandlers<typeof BindingsServiceService> {
  return {
    async listBindings(message) {
      const { guildId } = checked(listBindings, message, 'request');
      return { bindings: (await bindings.stored(guildId)).map(bindingMessage) };
    },
    async planBinding(message) {
      const { guildId, plan } = checked(planBinding, message, 'request');
      const planned = () => {
        switch (plan.$case) {
          case 'added':
            return planner.planNew(guildId, plan.value);
          case 'changed':
            return planner.planChange(guildId, plan.value);
          default:
            return bindings.get(guildId, plan.value);
        }
      };
      return { binding: bindingMessage(await planned()) };
    },
    async evaluate(message) {
      const { guildId, members, withoutOwnershipRoleIds, ...scope } = checked(evaluate, message, 'request');
      const { rolesOnly } = scope;
      const withoutOwnership = withoutOwnershipRoleIds;
      const verdicts = await evaluation.evaluate(guildId, members, { ...scope, withoutOwnership });
      return {
        members: verdicts.map(({ chatId, roles, nickname, isIncomplete, isRejected }) => ({
          chatId,
          ...nicknameFields(nickname),
          incomplete: isIncomplete,
          rejected: isRejected,
          roles: roles.map((role) => roleVerdictMessage(role, rolesOnly)),
        })),
      };
    },
  };
}
