import type { AgreedState, BanInForce, RestrictionInForce } from './restriction-state.ts';

/**
 * Ends that differ by less are the same, in milliseconds: the clocks differ, durations are whole seconds, and calls take
 * time.
 */
export const TOLERANCE_MS = 60_000;

/** Both sides of the mirror of a ban, and what they were when they were last made equal. */
export interface Comparison {
  ban: BanInForce | undefined;
  restriction: RestrictionInForce | undefined;
  agreed: AgreedState;
  /** True if the restriction is the result of a write of ours, but not of the last one that was acknowledged. */
  isOwnWrite: boolean;
  /** The current time in Unix milliseconds. */
  now: number;
}

/**
 * What makes the ban and the restriction equal. `agree`: they are equal already. `wait`: the difference ends by itself.
 * `restrict` and `release` change the restriction; `import` and `lift` change the ban.
 */
export type Step = (typeof STEPS)[number];
export const STEPS = ['agree', 'wait', 'restrict', 'release', 'import', 'lift'] as const;

/**
 * Decides which side follows the other: the side that has not changed since both were equal. If both have changed, the
 * player stays banned if either side says so, and the ban of the guild wins over that of the platform.
 */
export function decideStep({ ban, restriction, agreed, isOwnWrite, now }: Comparison): Step {
  if (!ban && !restriction) return 'agree';
  if (ban && restriction && isClose(ban.endsAt, restriction.endsAt)) return 'agree';
  const follow = ban ? 'restrict' : 'release';
  // A write that the platform has carried out late, or whose response was lost, is no decision of the platform.
  if (isOwnWrite) return follow;
  const isChangedHere = ban ? ban.id !== agreed.banId : agreed.banEnd === 'lifted';
  const isChangedThere = hasPlatformChanged(restriction, agreed.restriction, now);
  if (isChangedHere && isChangedThere) return ban ? 'restrict' : 'import';
  if (isChangedHere) return follow;
  if (isChangedThere) return restriction ? 'import' : 'lift';
  return 'wait';
}

function hasPlatformChanged(
  found: RestrictionInForce | undefined,
  agreed: RestrictionInForce | null,
  now: number,
): boolean {
  // A restriction that was about to end has ended by itself.
  if (!found) return agreed !== null && agreed.endsAt > now + TOLERANCE_MS;
  return found.startedAt !== agreed?.startedAt || found.endsAt !== agreed.endsAt;
}

/** Permanent ones both end at Infinity, whose difference is not a number. */
export const isClose = (one: number, other: number) => one === other || Math.abs(one - other) < TOLERANCE_MS;
