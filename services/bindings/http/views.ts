import type { Binding } from '../domain/binding.ts';
import type { BindingNames } from '../domain/platforms.ts';

/** Converts a role binding to its form in REST responses. */
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
