/** A number of calls in a window of some seconds, which the first call starts. */
export type Limit = { count: number; seconds: number };
export type Clock = () => number;

/** The state of a limit after a call; `resetMs` is the remaining time of the window. */
export type Standing = { allowed: boolean; limit: Limit; remaining: number; resetMs: number };

const MAX_WINDOWS = 10_000;

/** Counts calls in fixed windows per key. A rejected call is not counted. */
export class Windows {
  readonly #clock: Clock;
  readonly #windows = new Map<string, { endsAt: number; used: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The state of a limit, without counting a call. */
  peek(key: string, limit: Limit): Standing {
    const now = this.#clock();
    const window = this.#windows.get(key);
    const used = window && window.endsAt > now ? window.used : 0;
    const remaining = Math.max(0, limit.count - used);
    return { allowed: remaining > 0, limit, remaining, resetMs: used > 0 && window ? window.endsAt - now : 0 };
  }

  /** Counts one call and returns whether it is within the limit. */
  take(key: string, limit: Limit): Standing {
    const now = this.#clock();
    let window = this.#windows.get(key);
    if (!window || window.endsAt <= now) {
      if (this.#windows.size >= MAX_WINDOWS) this.#dropEnded(now);
      window = { endsAt: now + limit.seconds * 1000, used: 0 };
      this.#windows.set(key, window);
    }
    const allowed = window.used < limit.count;
    if (allowed) window.used += 1;
    return { allowed, limit, remaining: Math.max(0, limit.count - window.used), resetMs: window.endsAt - now };
  }

  #dropEnded(now: number): void {
    for (const [key, window] of this.#windows) if (window.endsAt <= now) this.#windows.delete(key);
  }
}

/** The limits of a platform, with `overrides` applied by name, all multiplied by `scale`. */
export function adjustLimits<Name extends string>(
  limits: Record<Name, Limit>,
  overrides: Partial<Record<string, Limit>> = {},
  scale = 1,
): Record<Name, Limit> {
  const entries = Object.entries<Limit>(limits).map(([name, limit]) => {
    const { count, seconds } = overrides[name] ?? limit;
    return [name, { count: Math.max(1, Math.floor(count * scale)), seconds }];
  });
  return Object.fromEntries(entries) as Record<Name, Limit>;
}
