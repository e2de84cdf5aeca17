import type { Binding, Condition } from '../domain/binding.ts';
import type { BindingNames } from '../domain/platforms.ts';

/** Converts a role binding to its form in REST responses. */
export function bindingView(binding: Binding, names: BindingNames) {
  return {
    id: binding.id,
    chat_role_id: binding.chatRoleId,
    chat_role_name: names.role,
    ...conditionView(binding),
    game_group_name: names.group,
    priority: binding.priority,
    // Clients that know only the fields of the specification see no difference until one of these is set.
    ...(binding.authority && { authority: binding.authority }),
    ...(binding.conditions.length > 0 && { conditions: binding.conditions.map(conditionView) }),
    ...(binding.nicknameTemplate !== null && { nickname_template: binding.nicknameTemplate }),
  };
}

const conditionView = (condition: Condition) => ({
  binding_type: condition.type,
  game_group_id: condition.gameGroupId,
  min_rank: condition.minRank,
  max_rank: condition.maxRank,
  gamepass_id: condition.gamepassId,
  asset_id: condition.assetId,
  badge_id: condition.badgeId,
  account_age_platform: condition.accountAgePlatform,
  account_age_min_days: condition.accountAgeMinDays,
});

export type BindingView = ReturnType<typeof bindingView>;
