import type { z } from 'zod';
import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import { type bindingsRoutes, REQUIRED_FIELDS } from '#proto/rest/bindings.ts';
import type { Condition, NewBinding } from '../domain/binding.ts';
import type { Bindings } from '../domain/bindings.ts';
import type { Checks } from '../domain/checks.ts';
import type { BindingView } from './views.ts';

/** Returns the handlers of the REST routes in proto/rest/bindings.ts. */
export function bindingsHandlers(bindings: Bindings<BindingView>, checks: Checks): HttpHandlers<typeof bindingsRoutes> {
  return {
    listBindings: async ({ guildId }) => ok({ bindings: await bindings.list(guildId) }),
    addBinding: ({ write, body }) => bindings.add(write, newBinding(body)),
    updateBinding: ({ write, body }) =>
      bindings.update(write, body.binding_id, {
        minRank: body.min_rank,
        maxRank: body.max_rank,
        priority: body.priority,
        conditions: body.conditions?.map(conditionOf),
        authority: body.authority,
        nicknameTemplate: body.nickname_template,
      }),
    removeBinding: ({ write, params }) => bindings.remove(write, params.bindingId),
    async testBinding({ guildId, body }) {
      const { verdict, reason, rank } = await checks.test(guildId, body.binding_id, body.chat_id);
      return ok({ matches: verdict === 'wanted', reason, user_rank: rank });
    },
    async validateBinding({ body }) {
      const { group, reason } = await checks.validate(body.game_group_id, { min: body.min_rank, max: body.max_rank });
      const valid = reason === undefined;
      return ok({ valid, group_id: body.game_group_id, group_name: group?.name ?? null, reason });
    },
  };
}

type AddBody = z.output<typeof bindingsRoutes.addBinding.body & object>;
type ConditionBody = NonNullable<AddBody['conditions']>[number];

/** Creates a condition from its part of a request body, with only those fields that its type needs. */
function conditionOf(body: ConditionBody): Condition {
  const needed: readonly string[] = REQUIRED_FIELDS[body.binding_type];
  const ifNeeded = <Field extends keyof ConditionBody>(field: Field) =>
    needed.includes(field) ? (body[field] ?? null) : null;
  return {
    type: body.binding_type,
    gameGroupId: ifNeeded('game_group_id'),
    minRank: ifNeeded('min_rank'),
    maxRank: ifNeeded('max_rank'),
    gamepassId: ifNeeded('game_gamepass_id'),
    assetId: ifNeeded('game_asset_id'),
    badgeId: ifNeeded('game_badge_id'),
    accountAgePlatform: ifNeeded('account_age_platform'),
    accountAgeMinDays: ifNeeded('account_age_min_days'),
  };
}

const newBinding = (body: AddBody): NewBinding => ({
  ...conditionOf(body),
  chatRoleId: body.chat_role_id,
  priority: body.priority ?? null,
  conditions: (body.conditions ?? []).map(conditionOf),
  authority: body.authority ?? null,
  nicknameTemplate: body.nickname_template ?? null,
});
