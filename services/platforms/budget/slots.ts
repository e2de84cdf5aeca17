import type { Purpose } from '#kit/context.ts';

/** A call that needs a slot. */
export interface Caller {
  /** A UUID. */
  id: string;
  /** Slots are granted to the guilds in rotation; empty for a call of no guild. */
  guildId: string;
  /** More urgent purposes get slots first. */
  purpose: Purpose;
}

/** A platform's rate limit: at most `slots` calls within any period of `windowMs`. */
export interface Allowance {
  slots: number;
  windowMs: number;
}

/**
 * Enforces a rate limit. A call occupies a slot from the moment it is allowed until one window after its response. Even
 * if the request is delayed on its way, the platform therefore never receives more calls within a window than there are
 * slots.
 */
export interface CallSlots {
  /**
   * Returns 0 if the call may be made now. Otherwise returns the milliseconds after which to try again; a caller that
   * does not try again then loses its position in the queue.
   */
  acquire(caller: Caller): Promise<number>;
  /** To be called after the response, or when the caller gives up waiting. */
  release(id: string): Promise<void>;
}

/** Added to a window, because Redis counts whole milliseconds. */
const MARGIN_MS = 5;
/** Longer than any call lasts. */
const MAX_CALL_MS = 11_000;
/** A waiting caller has to try again within this time. */
export const MAX_WAIT_MS = 2_000;

/** How long a slot stays occupied after the response. */
export const releaseDelayOf = ({ windowMs }: Allowance) => windowMs + MARGIN_MS;
/** How long a slot stays occupied if its process dies. */
export const leaseOf = ({ windowMs }: Allowance) => windowMs + MAX_CALL_MS;

/** The number of slots that calls of this purpose have to leave free for more urgent calls. */
export function reserveOf({ slots }: Allowance, purpose: Purpose): number {
  if (purpose === 'caller') return 0;
  return Math.floor(slots / (purpose === 'background' ? 10 : 5));
}
