import {
  type Binding as BindingMessage,
  type BindingVerdict,
  Verdict as VerdictMessage,
} from '#proto/gen/guild/bindings/v1/bindings.ts';
import { type Binding, targetOf } from '../domain/binding.ts';
import type { RoleVerdict } from '../domain/evaluation.ts';
import type { BindingNames } from '../domain/platforms.ts';
import type { Verdict } from '../domain/rules.ts';

/** A binding as keys see it. */
export function bindingView(binding: Binding, names: BindingNames) {
  return {
    id: binding.id,
    chat_role_id: binding.chatRoleId,
    chat_role_name: names.role,
    binding_type: binding.type,
    game_group_id: binding.gameGroupId,
    game_group_name: names.group,
    min_rank: binding.minRank,
    max_rank: binding.maxRank,
    gamepass_id: binding.gamepassId,
    asset_id: binding.assetId,
    badge_id: binding.badgeId,
    account_age_platform: binding.accountAgePlatform,
    account_age_min_days: binding.accountAgeMinDays,
    priority: binding.priority,
  };
}

export type BindingView = ReturnType<typeof bindingView>;

/** A binding as other services see it. */
export function bindingMessage(binding: Binding): BindingMessage {
  const { id, chatRoleId, priority } = binding;
  return { id, chatRoleId, priority: priority ?? undefined, target: targetMessage(binding) };
}

function targetMessage(binding: Binding): BindingMessage['target'] {
  const target = targetOf(binding);
  switch (target.kind) {
    case 'rank':
      return {
        $case: 'groupRank',
        value: { gameGroupId: target.groupId, minRank: target.min, maxRank: target.max },
      };
    case 'item':
      return { $case: `${target.item.kind}Id`, value: target.item.id };
    default:
      return { $case: 'accountAge', value: { platform: target.platform, minDays: target.minDays } };
  }
}

const VERDICTS = {
  wanted: VerdictMessage.VERDICT_WANTED,
  not_wanted: VerdictMessage.VERDICT_NOT_WANTED,
  unknown: VerdictMessage.VERDICT_UNKNOWN,
} satisfies Record<Verdict, VerdictMessage>;

/** A role's verdict as other services see it, with those of its bindings or without. */
export function roleVerdictMessage({ chatRoleId, verdict, bindings }: RoleVerdict, rolesOnly: boolean) {
  const single = ({ bindingId, verdict, reason }: RoleVerdict['bindings'][number]): BindingVerdict => ({
    bindingId,
    verdict: VERDICTS[verdict],
    reason,
  });
  return { chatRoleId, verdict: VERDICTS[verdict], bindings: rolesOnly ? [] : bindings.map(single) };
}
