import type { Purpose } from '#kit/context.ts';

/**
 * A call to the chat or game platform, which may be made only when it gets a slot of the call budget (our own rate
 * limit for the platform).
 */
export interface Caller {
  /** The ID of the call, a UUID. */
  id: string;
  /** The guild of the call; empty for a call of no guild. Slots are granted to the waiting guilds in rotation. */
  guildId: string;
  /** The purpose of the call; more urgent purposes get slots first. */
  purpose: Purpose;
}

/** Identifies a call that waits for a slot or has one. */
export type CallerName = Pick<Caller, 'id' | 'guildId'>;

/** The rate limit of a platform: at most `slots` calls within any period of `windowMs`. */
export interface Allowance {
  slots: number;
  windowMs: number;
}

/**
 * Enforces the rate limit of a platform. A call occupies a slot from the moment it is allowed until one window after
 * its response. Even if the request is delayed on its way, the platform therefore never receives more calls within a
 * window than there are slots.
 *
 * If the window is longer than callers wait, rotation alone does not help a guild: all slots may be occupied for a minute
 * by calls that another guild made before. Then a guild occupies at most as many slots as it leaves free, or a tenth of
 * all. A call above this share waits outside the queue, where it delays no call of another guild. A guild may occupy all
 * slots while no other one calls.
 */
export interface CallSlots {
  /**
   * Returns 0 if the call may be made now. Otherwise returns the milliseconds after which the caller has to try again;
   * a caller that does not try again then loses its position in the queue.
   */
  acquire(caller: Caller): Promise<number>;
  /** Releases the slot of a call. Called after the response, or when the caller gives up waiting. */
  release(caller: CallerName): Promise<void>;
}

/** Milliseconds that are added to a rate limit window, because Redis counts whole milliseconds. */
const MARGIN_MS = 5;
/** The maximum duration of a call to a platform, in milliseconds, rounded up. */
const MAX_CALL_MS = 11_000;
/** The maximum time, in milliseconds, after which a waiting caller has to try again. */
export const MAX_WAIT_MS = 2_000;
/** The longest window, in milliseconds, within which each waiting call gets a slot before its caller gives up. */
const MAX_ROTATION_MS = 5_000;
/**
 * The time, in milliseconds, for which a guild counts as one that calls. It is much longer than a window, because a guild
 * that calls a few times an hour has to find free slots, too.
 */
export const CALLING_MS = 3_600_000;

/** Returns the milliseconds for which a slot stays occupied after the response. */
export const releaseDelayOf = ({ windowMs }: Allowance) => windowMs + MARGIN_MS;
/** Returns the milliseconds for which a slot stays occupied if the process that holds it dies. */
export const leaseOf = ({ windowMs }: Allowance) => windowMs + MAX_CALL_MS;

/** Returns the number of slots that calls of this purpose have to leave free for more urgent calls. */
export function reserveOf({ slots }: Allowance, purpose: Purpose): number {
  if (purpose === 'caller') return 0;
  return Math.floor(slots / (purpose === 'background' ? 10 : 5));
}

/** Returns the number of slots that a guild may always occupy; 0 if the slots of a guild are not limited. */
export function assuredOf({ slots, windowMs }: Allowance): number {
  return windowMs <= MAX_ROTATION_MS ? 0 : Math.max(1, Math.floor(slots / 10));
}

/**
 * Returns the number of slots that calls of this purpose may occupy for one guild, while other guilds call too: as many as
 * are free, without those that more urgent calls of the same guild need.
 */
export function shareOf(allowance: Allowance, free: number, purpose: Purpose): number {
  const share = Math.max(assuredOf(allowance), free);
  return share - Math.floor((share * reserveOf(allowance, purpose)) / allowance.slots);
}
