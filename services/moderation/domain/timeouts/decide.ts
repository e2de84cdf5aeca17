/** The end of a mute or of a timeout in Unix milliseconds: 0 if there is none, Infinity if it is permanent. */
export type End = number;

const DAY_MS = 24 * 3600 * 1000;
/** The chat platform's longest timeout is 28 days. A minute less, because its clock may be behind. */
export const MAX_TIMEOUT_MS = 28 * DAY_MS - 60_000;
/** A timeout that is shorter than its mute is extended this long before it ends. */
export const RENEWAL_MS = DAY_MS;
/** Ends that differ by less are equal: mutes last whole seconds. What ends sooner than this has ended. */
const SAME_MS = 2_000;

export interface Sides {
  /** The end of the mute in the game. */
  mute: End;
  /** The end of the timeout on the chat platform. */
  timeout: End;
}

/** The change that makes a mute and a timeout equal. `none`: they are equal. */
export type Step =
  | { change: 'none' }
  /** Times the member out; 0 ends the timeout. */
  | { change: 'timeout'; until: End }
  /** Mutes the player; 0 lifts the mute. */
  | { change: 'mute'; until: End };

/**
 * Decides what makes a mute and a timeout equal. `agreed` is what both were when they were last equal: what differs from
 * it was changed by somebody, and is carried over to the other side. If both were changed, the later end is right, so that
 * no punishment is lost.
 */
export function nextStep(current: Sides, agreed: Sides, now: number): Step {
  const mute = ahead(current.mute, now);
  const timeout = ahead(current.timeout, now);
  if (areEqual(mute, timeout, now)) return { change: 'none' };
  const isMuteChanged = !isSame(mute, ahead(agreed.mute, now));
  const isTimeoutChanged = !isSame(timeout, ahead(agreed.timeout, now));
  if (isTimeoutChanged && (!isMuteChanged || timeout > mute)) return { change: 'mute', until: timeout };
  return { change: 'timeout', until: Math.min(mute, now + MAX_TIMEOUT_MS) };
}

/** Returns when a timeout has to be extended; undefined if it lasts as long as the mute. */
export function renewalOf({ mute, timeout }: Sides): number | undefined {
  return timeout > 0 && mute > timeout + SAME_MS ? timeout - RENEWAL_MS : undefined;
}

const ahead = (end: End, now: number): End => (end < now + SAME_MS ? 0 : end);

const isSame = (one: End, other: End) => one === other || Math.abs(one - other) < SAME_MS;

/** True if the timeout is what the mute requires: it lasts as long, or as long as the platform allows. */
function areEqual(mute: End, timeout: End, now: number): boolean {
  const isLong = mute > now + MAX_TIMEOUT_MS;
  return isSame(mute, timeout) || (isLong && timeout > now + MAX_TIMEOUT_MS - RENEWAL_MS);
}
