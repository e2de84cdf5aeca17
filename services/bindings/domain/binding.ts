import type { GameItem } from '#platforms/game.ts';
import type { BindingType } from '#proto/rest/bindings.ts';

/** The maximum number of role bindings of a guild. */
export const MAX_BINDINGS = 500;

/** A role binding before it is stored, so without an ID. Fields that the type of the binding does not use are null. */
export interface NewBinding {
  chatRoleId: string;
  type: BindingType;
  gameGroupId: number | null;
  minRank: number | null;
  maxRank: number | null;
  gamepassId: number | null;
  assetId: number | null;
  badgeId: number | null;
  accountAgePlatform: 'chat' | 'game' | null;
  accountAgeMinDays: number | null;
  priority: number | null;
}

export interface Binding extends NewBinding {
  id: number;
}

/** The target of a role binding: the fact about a member on which the chat role depends. */
export type Target =
  | { kind: 'rank'; groupId: number; min: number; max: number }
  | { kind: 'item'; item: GameItem }
  | { kind: 'age'; platform: 'chat' | 'game'; minDays: number };

/**
 * Returns the target of a role binding. Constraints of the table ensure that the fields that its type uses are not
 * null.
 */
export function targetOf(binding: NewBinding): Target {
  switch (binding.type) {
    case 'group_rank':
      return {
        kind: 'rank',
        groupId: binding.gameGroupId as number,
        min: binding.minRank as number,
        max: binding.maxRank as number,
      };
    case 'gamepass':
      return { kind: 'item', item: { kind: 'gamepass', id: binding.gamepassId as number } };
    case 'asset':
      return { kind: 'item', item: { kind: 'asset', id: binding.assetId as number } };
    case 'badge':
      return { kind: 'item', item: { kind: 'badge', id: binding.badgeId as number } };
    default:
      return {
        kind: 'age',
        platform: binding.accountAgePlatform as 'chat' | 'game',
        minDays: binding.accountAgeMinDays as number,
      };
  }
}
