import type { GameItem, Rejected, Unknown, UnknownOrHidden } from '#platforms/game.ts';
import type { ReasonCode } from '#proto/rest/directory.ts';
import { type NewBinding, type Target, targetsOf } from './binding.ts';

export type Verdict = 'wanted' | 'not_wanted' | 'unknown';

export interface TargetVerdict {
  verdict: Verdict;
  /** The reason for the verdict, as a text for people. */
  reason: string;
  code: ReasonCode;
  /**
   * The rank that matches the role binding, otherwise the member's highest rank; 0 if the member is not in the group,
   * undefined if the rank is unknown.
   */
  rank?: number;
  /** The age of the account in days, for a role binding to the age of an account; undefined if it is unknown. */
  days?: number;
}

/** The verdict on a role binding, with the targets that decided it. */
export interface BindingResult extends TargetVerdict {
  deciding: readonly { target: Target; verdict: TargetVerdict }[];
}

/** The facts about a member that role bindings depend on. */
export interface Facts {
  /** True if a game account is linked. Without one there are no facts about it. */
  isLinked: boolean;
  /** The member's ranks by group ID, without groups that the member is not in. */
  ranks: ReadonlyMap<number, readonly number[]> | Unknown | Rejected;
  owns(item: GameItem): boolean | UnknownOrHidden;
  /** When the member's two accounts were created. */
  createdAt: { chat: Date; game: Date | UnknownOrHidden };
  /** True if a fact about the member is unknown because of a failure, so that a later query may return it. */
  isIncomplete: boolean;
  /** True if the game platform rejects calls that name the member's account, so that a later query does not help. */
  isRejected: boolean;
}

const DAY_MS = 24 * 3600_000;

/**
 * Evaluates if the facts about a member meet all targets of a role binding. A member without a game account can only match
 * a binding of the type `unverified`.
 */
export function evaluateBinding(binding: NewBinding, facts: Facts, now: number): BindingResult {
  const [own, ...others] = targetsOf(binding);
  const results = [own, ...(facts.isLinked || binding.type === 'unverified' ? others : [])].map((target) => ({
    target,
    verdict: !facts.isLinked && target === own ? evaluateLink(target) : evaluateTarget(target, facts, now),
  }));
  const failed =
    results.find(({ verdict }) => verdict.verdict === 'not_wanted') ??
    results.find(({ verdict }) => verdict.verdict === 'unknown');
  const deciding = failed ? [failed] : results;
  const [{ verdict } = { verdict: NOT_VERIFIED }] = deciding;
  const reason = deciding.map((each) => each.verdict.reason).join('; ');
  return { ...verdict, reason, deciding };
}

const NOT_VERIFIED: TargetVerdict = {
  verdict: 'not_wanted',
  code: 'NOT_VERIFIED',
  reason: 'no game account is linked to this chat account',
};

/** Evaluates a role binding's own target for a member without a game account. */
const evaluateLink = (target: Target): TargetVerdict =>
  target.kind === 'link' && !target.linked ? { ...NOT_VERIFIED, verdict: 'wanted' } : NOT_VERIFIED;

const VERIFIED: TargetVerdict = {
  verdict: 'wanted',
  code: 'VERIFIED',
  reason: 'a game account is linked to this chat account',
};

/** Evaluates if the facts about a member meet one target. */
export function evaluateTarget(target: Target, facts: Facts, now: number): TargetVerdict {
  if (target.kind === 'link') {
    if (!facts.isLinked) return evaluateLink(target);
    return target.linked ? VERIFIED : { ...VERIFIED, verdict: 'not_wanted' };
  }
  if (!facts.isLinked && !(target.kind === 'age' && target.platform === 'chat')) return NOT_VERIFIED;
  switch (target.kind) {
    case 'rank':
      return evaluateRank(target, facts.ranks);
    case 'item':
      return evaluateItem(target.item, facts.owns(target.item));
    default:
      return evaluateAge(target, facts.createdAt[target.platform], now);
  }
}

/**
 * Combines the verdicts of all role bindings of one chat role into one: `wanted` if any of them is `wanted`,
 * `not_wanted` only if all are.
 */
export function combine(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('wanted')) return 'wanted';
  return verdicts.includes('unknown') ? 'unknown' : 'not_wanted';
}

type RankTarget = Extract<Target, { kind: 'rank' }>;
type AgeTarget = Extract<Target, { kind: 'age' }>;

/** The rank of users who are not in a game group, even if the group has no role for guests. */
export const OUTSIDE_RANK = 0;

/** Evaluates if one of a member's ranks in a group is within the range of a role binding. */
export function evaluateRank({ groupId, min, max }: RankTarget, ranks: Facts['ranks']): TargetVerdict {
  if (ranks === 'rejected') return unknown('ACCOUNT_REJECTED', 'the game platform rejects requests about this account');
  if (ranks === 'unknown') {
    return unknown('PLATFORM_UNAVAILABLE', `the game platform cannot report the user's rank in group ${groupId} now`);
  }
  const held = ranks.get(groupId) ?? [OUTSIDE_RANK];
  const match = held.find((rank) => rank >= min && rank <= max);
  if (match !== undefined) {
    const reason = `rank ${match} is within ${min} to ${max}`;
    return { verdict: 'wanted', code: 'RANK_IN_RANGE', reason, rank: match };
  }
  const rank = Math.max(...held);
  return { verdict: 'not_wanted', ...rankMismatch(groupId, rank, min, max), rank };
}

function rankMismatch(groupId: number, rank: number, min: number, max: number): Pick<TargetVerdict, 'code' | 'reason'> {
  if (rank === OUTSIDE_RANK) {
    return { code: 'NOT_IN_GROUP', reason: `the user is not in group ${groupId}, and the minimum rank is ${min}` };
  }
  return rank < min
    ? { code: 'RANK_TOO_LOW', reason: `rank ${rank} is below the minimum of ${min}` }
    : { code: 'RANK_TOO_HIGH', reason: `rank ${rank} is above the maximum of ${max}` };
}

function evaluateItem({ kind, id }: GameItem, owned: boolean | UnknownOrHidden): TargetVerdict {
  if (owned === 'hidden') {
    return unknown('INVENTORY_PRIVATE', `the inventory is private: ${kind} ${id} may be owned`);
  }
  if (owned === 'unknown') {
    return unknown('PLATFORM_UNAVAILABLE', `the game platform does not respond now: ${kind} ${id} may be owned`);
  }
  return owned
    ? { verdict: 'wanted', code: 'OWNED', reason: `the user owns ${kind} ${id}` }
    : { verdict: 'not_wanted', code: 'NOT_OWNED', reason: `the user does not own ${kind} ${id}` };
}

function evaluateAge({ platform, minDays }: AgeTarget, createdAt: Date | UnknownOrHidden, now: number): TargetVerdict {
  if (createdAt === 'hidden') {
    return unknown('ACCOUNT_REJECTED', 'the game platform does not show when the account was created');
  }
  if (createdAt === 'unknown') {
    return unknown('PLATFORM_UNAVAILABLE', 'the game platform cannot report now when the account was created');
  }
  const days = Math.max(0, Math.floor((now - createdAt.getTime()) / DAY_MS));
  return days >= minDays
    ? {
        verdict: 'wanted',
        code: 'OLD_ENOUGH',
        reason: `the ${platform} account is ${days} days old, at least ${minDays}`,
        days,
      }
    : {
        verdict: 'not_wanted',
        code: 'TOO_YOUNG',
        reason: `the ${platform} account is ${days} days old, less than ${minDays}`,
        days,
      };
}

const unknown = (code: ReasonCode, reason: string): TargetVerdict => ({ verdict: 'unknown', code, reason });
