/** The source of the current time; tests replace it. */
export interface Clock {
  /** Returns the current time in Unix milliseconds. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** A clock for tests: its time changes only when the test calls `advance`. */
export class ManualClock implements Clock {
  #now: number;

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}

/** Converts Unix milliseconds to whole Unix seconds. */
export function unixSeconds(milliseconds: number | Date): number {
  return Math.floor(Number(milliseconds) / 1000);
}
