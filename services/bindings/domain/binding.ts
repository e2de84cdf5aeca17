import type { GameItem } from '#platforms/game.ts';
import type { Authority, BindingType } from '#proto/rest/bindings.ts';

/** The maximum number of role bindings of a guild. */
export const MAX_BINDINGS = 500;

/** What a member must have to match a role binding. Fields that the type does not use are null. */
export interface Condition {
  type: BindingType;
  gameGroupId: number | null;
  minRank: number | null;
  maxRank: number | null;
  gamepassId: number | null;
  assetId: number | null;
  badgeId: number | null;
  accountAgePlatform: 'chat' | 'game' | null;
  accountAgeMinDays: number | null;
}

/** A role binding before it is stored, so without an ID. */
export interface NewBinding extends Condition {
  chatRoleId: string;
  priority: number | null;
  /** Further conditions, all of which must match as well; at most MAX_CONDITIONS. */
  conditions: readonly Condition[];
  /** When members who do not match lose the role; null if it was not chosen. */
  authority: Authority | null;
  nicknameTemplate: string | null;
}

export interface Binding extends NewBinding {
  id: number;
}

/** A target of a role binding: a fact about a member on which the chat role depends. */
export type Target =
  | { kind: 'rank'; groupId: number; min: number; max: number }
  | { kind: 'item'; item: GameItem }
  | { kind: 'age'; platform: 'chat' | 'game'; minDays: number }
  | { kind: 'link'; linked: boolean };

/** Returns the targets of a role binding, its own first. A member must meet all of them. */
export const targetsOf = (binding: NewBinding): [Target, ...Target[]] => [
  targetOf(binding),
  ...binding.conditions.map(targetOf),
];

/**
 * Returns the target of a condition, or a role binding's own. The table and the schemas of requests ensure that the fields
 * that its type uses are not null.
 */
export function targetOf(binding: Condition): Target {
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
    case 'verified':
    case 'unverified':
      return { kind: 'link', linked: binding.type === 'verified' };
    default:
      return {
        kind: 'age',
        platform: binding.accountAgePlatform as 'chat' | 'game',
        minDays: binding.accountAgeMinDays as number,
      };
  }
}
