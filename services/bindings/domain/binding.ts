import type { GameItem } from '#platforms/game.ts';
import type { BindingType } from '#proto/rest/bindings.ts';

/** The most bindings of a guild. */
export const MOST_BINDINGS = 500;

/** A binding without what the store adds. What its type has no use for is null. */
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

/** What the role follows from. */
export type Target =
  | { kind: 'rank'; groupId: number; min: number; max: number }
  | { kind: 'item'; item: GameItem }
  | { kind: 'age'; platform: 'chat' | 'game'; minDays: number };

/** The table lets through no binding without the columns of its type. */
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
