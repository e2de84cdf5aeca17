/** Who wants to call. */
export interface Caller {
  /** A UUID. */
  id: string;
  /** Guilds have turns alike; empty for none. */
  guildId: string;
  /** Behind all calls that someone waits for. */
  isJob: boolean;
}

/**
 * Parts a number of calls a second. A call has a place from when it is let through until a window after its answer, so
 * that however late it arrives, no more calls than there are places arrive within any window.
 */
export interface Turns {
  /** 0 when it may call now; else milliseconds after which to ask again, or it loses its place in the line. */
  take(caller: Caller): Promise<number>;
  /** After the answer, or when it waits no longer. */
  leave(id: string): Promise<void>;
}

/** A little more than a second, since Redis counts whole milliseconds. */
export const WINDOW_MS = 1_005;
/** Longer than a call that has a place may take: then its process is gone. */
export const LEASE_MS = 12_000;

/** Of so many places those that jobs leave free, for calls that someone waits for. */
export const reserveOf = (places: number) => Math.floor(places / 5);
