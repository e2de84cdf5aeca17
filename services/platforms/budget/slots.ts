import type { Purpose } from '#kit/context.ts';

/** Who wants to call. */
export interface Caller {
  /** A UUID. */
  id: string;
  /** Guilds take turns; empty for none. */
  guildId: string;
  /** The more urgent ones come first. */
  purpose: Purpose;
}

/** What a platform grants: so many calls within any window of so many milliseconds. */
export interface Allowance {
  places: number;
  windowMs: number;
}

/**
 * Parts an allowance among callers. A call has a place from when it is let through until a window after its response,
 * so that however late it arrives, no more calls than there are places arrive within any window.
 */
export interface Turns {
  /** 0 when it may call now; else milliseconds after which to try again, or it loses its place in the queue. */
  take(caller: Caller): Promise<number>;
  /** After the response, or when it waits no longer. */
  leave(id: string): Promise<void>;
}

/** Redis counts whole milliseconds. */
const MARGIN_MS = 5;
/** Longer than a call that has a place may take. */
const CALL_MS = 11_000;
/** A caller that has to wait tries again within this. */
export const MAX_WAIT_MS = 2_000;

/** How long a place is taken after the response. */
export const windowOf = ({ windowMs }: Allowance) => windowMs + MARGIN_MS;
/** How long a place is taken whose process is gone. */
export const leaseOf = ({ windowMs }: Allowance) => windowMs + CALL_MS;

/** Of so many places those that less urgent calls leave free for more urgent ones. */
export function reserveOf({ places }: Allowance, purpose: Purpose): number {
  if (purpose === 'caller') return 0;
  return Math.floor(places / (purpose === 'background' ? 10 : 5));
}
