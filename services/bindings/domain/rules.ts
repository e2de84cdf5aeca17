import type { GameItem, Rejected, Unknown, UnknownOrHidden } from '#platforms/game.ts';
import type { Target } from './binding.ts';

export type Verdict = 'wanted' | 'not_wanted' | 'unknown';

export interface Weighed {
  verdict: Verdict;
  /** A sentence that a person can act on. */
  reason: string;
  /** Of a rank, where it is known: the one that matches, else the highest; 0 when not in the group. */
  rank?: number;
}

/** What is known of a member. */
export interface Facts {
  /** By group; a group in which the member is not is left out. */
  ranks: ReadonlyMap<number, readonly number[]> | Unknown | Rejected;
  owns(item: GameItem): boolean | UnknownOrHidden;
  /** When the accounts were made. */
  createdAt: { chat: Date; game: Date | UnknownOrHidden };
  /** Whether the game platform failed to tell something of this, and may tell it if asked again. */
  isIncomplete: boolean;
  /** Whether the game platform rejects calls that name the account, so that asking again does not help. */
  isRejected: boolean;
}

const DAY_MS = 24 * 3600_000;

/** Whether a binding gives its role to the member of whom these facts are known, and why. */
export function weigh(target: Target, facts: Facts, now: number): Weighed {
  switch (target.kind) {
    case 'rank':
      return weighRank(target, facts.ranks);
    case 'item':
      return weighItem(target.item, facts.owns(target.item));
    default:
      return weighAge(target, facts.createdAt[target.platform], now);
  }
}

/**
 * A role's verdict from those of its bindings: wanted if any is, not wanted only if none is wanted and none unknown.
 */
export function combine(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('wanted')) return 'wanted';
  return verdicts.includes('unknown') ? 'unknown' : 'not_wanted';
}

type RankTarget = Extract<Target, { kind: 'rank' }>;
type AgeTarget = Extract<Target, { kind: 'age' }>;

/** The rank of everybody who is not in a group, whether or not the group has a role for guests. */
export const OUTSIDE_RANK = 0;

/** Whether any of the ranks in the group is in the range. */
export function weighRank({ groupId, min, max }: RankTarget, ranks: Facts['ranks']): Weighed {
  if (ranks === 'rejected') return unknown('the game platform rejects requests about this account');
  if (ranks === 'unknown') return unknown(`the game platform does not tell the user's rank in group ${groupId} now`);
  const held = ranks.get(groupId) ?? [OUTSIDE_RANK];
  const match = held.find((rank) => rank >= min && rank <= max);
  if (match !== undefined) {
    return { verdict: 'wanted', reason: `rank ${match} is within ${min} to ${max}`, rank: match };
  }
  const rank = Math.max(...held);
  return { verdict: 'not_wanted', reason: rankMissed(groupId, rank, min, max), rank };
}

function rankMissed(groupId: number, rank: number, min: number, max: number): string {
  if (rank === OUTSIDE_RANK) return `the user is not in group ${groupId}, and the minimum rank is ${min}`;
  return rank < min ? `rank ${rank} is below the minimum of ${min}` : `rank ${rank} is above the maximum of ${max}`;
}

function weighItem({ kind, id }: GameItem, owned: boolean | UnknownOrHidden): Weighed {
  if (owned === 'hidden') return unknown(`the inventory is private: ${kind} ${id} may be owned`);
  if (owned === 'unknown') return unknown(`the game platform does not answer now: ${kind} ${id} may be owned`);
  return owned
    ? { verdict: 'wanted', reason: `the user owns ${kind} ${id}` }
    : { verdict: 'not_wanted', reason: `the user does not own ${kind} ${id}` };
}

function weighAge({ platform, minDays }: AgeTarget, createdAt: Date | UnknownOrHidden, now: number): Weighed {
  if (createdAt === 'hidden') return unknown('the game platform does not tell when the account was made');
  if (createdAt === 'unknown') return unknown('the game platform does not tell now when the account was made');
  const days = Math.max(0, Math.floor((now - createdAt.getTime()) / DAY_MS));
  return days >= minDays
    ? { verdict: 'wanted', reason: `the ${platform} account is ${days} days old, at least ${minDays}` }
    : { verdict: 'not_wanted', reason: `the ${platform} account is ${days} days old, less than ${minDays}` };
}

const unknown = (reason: string): Weighed => ({ verdict: 'unknown', reason });
