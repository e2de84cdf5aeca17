/** Where a part gets the time from, so that tests decide it. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** A clock that stands still until it is told otherwise. */
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

/** Unix milliseconds as whole Unix seconds. */
export function unixSeconds(milliseconds: number | Date): number {
  return Math.floor(Number(milliseconds) / 1000);
}
