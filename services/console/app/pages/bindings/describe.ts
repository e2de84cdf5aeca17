import type { Binding, BindingCondition } from '#clients/typescript/src/operations-types.ts';
import { bindingsTexts, conditionTexts as texts } from '../../texts.ts';

const MAX_RANK = 255;

/** The name of the role of a binding. */
export const roleNameOf = ({ chat_role_id, chat_role_name }: Binding): string =>
  chat_role_name ?? bindingsTexts.deleted(chat_role_id);

/** Says who gets the role of a binding. */
export const conditionOf = (binding: Binding): string =>
  [ownCondition(binding), ...(binding.conditions ?? []).map(ownCondition)].join(texts.and);

/** A condition with the name of its group, if it is known. */
type Named = BindingCondition & { game_group_name?: string | null };

function ownCondition(condition: Named): string {
  const { binding_type, gamepass_id, asset_id, badge_id, account_age_platform, account_age_min_days } = condition;
  switch (binding_type) {
    case 'group_rank':
      return rankCondition(condition);
    case 'gamepass':
      return gamepass_id === null ? texts.unknown : texts.gamepass(gamepass_id);
    case 'asset':
      return asset_id === null ? texts.unknown : texts.asset(asset_id);
    case 'badge':
      return badge_id === null ? texts.unknown : texts.badge(badge_id);
    case 'verified':
      return texts.verified;
    case 'unverified':
      return texts.unverified;
    default:
      return account_age_platform === null || account_age_min_days === null
        ? texts.unknown
        : texts.age(account_age_platform, account_age_min_days);
  }
}

function rankCondition({ game_group_id, game_group_name, min_rank, max_rank }: Named): string {
  if (game_group_id === null || min_rank === null || max_rank === null) return texts.unknown;
  const group = game_group_name ?? texts.group(game_group_id);
  if (max_rank < MAX_RANK || min_rank === max_rank) return texts.rank(group, min_rank, max_rank);
  return min_rank === 1 ? texts.anyRank(group) : texts.rankFrom(group, min_rank);
}
