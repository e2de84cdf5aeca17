/** The time of a universe, in milliseconds since 1970. Servers of one universe share a clock. */
export interface EngineClock {
  now(): number;
  /** Calls back once that time has come. The result cancels it. */
  schedule(at: number, callback: () => void): () => void;
  /** Tells the clock that something outside of its control is in progress. The result ends that. */
  hold(): () => void;
}

/** Real time, or time that passes faster by a factor. */
export class RealClock implements EngineClock {
  readonly #begun = Date.now();
  readonly #origin = performance.now();
  readonly #speed: number;

  constructor(speed = 1) {
    this.#speed = speed;
  }

  now(): number {
    return this.#begun + (performance.now() - this.#origin) * this.#speed;
  }

  schedule(at: number, callback: () => void): () => void {
    const timer = setTimeout(callback, Math.max(0, Math.ceil((at - this.now()) / this.#speed)));
    return () => {
      clearTimeout(timer);
    };
  }

  hold(): () => void {
    return () => {};
  }
}

interface Timer {
  at: number;
  order: number;
  callback: () => void;
}

/**
 * Time that passes only in `advance`, from timer to timer, and stands still while something is in progress: a request
 * on a real socket takes no simulated time, apart from the latency that a test adds.
 */
export class VirtualClock implements EngineClock {
  #now: number;
  #order = 0;
  #held = 0;
  #timers: Timer[] = [];
  #whenIdle: (() => void) | undefined;

  constructor(start = Date.parse('2026-01-01T00:00:00Z')) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  schedule(at: number, callback: () => void): () => void {
    const timer = { at, order: this.#order++, callback };
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#timers[middle] as Timer).at <= at) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  hold(): () => void {
    this.#held++;
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#held--;
      if (this.#held === 0) this.#whenIdle?.();
    };
  }

  /** Lets simulated time pass, and returns when everything that falls into it is done. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    for (;;) {
      await this.#settled();
      const next = this.#timers[0];
      if (next === undefined || next.at > end) break;
      this.#timers.shift();
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
  }

  /** Lets time pass until the promise is settled, at most for that long. */
  async until<T>(promise: Promise<T>, maxMilliseconds = 600_000): Promise<T> {
    let settled = false;
    const end = this.#now + maxMilliseconds;
    const watch = async () => {
      await Promise.allSettled([promise]);
      settled = true;
    };
    void watch();
    for (;;) {
      await this.#settled();
      if (settled) return await promise;
      const next = this.#timers[0];
      if (next === undefined || next.at > end) throw new Error('the simulated time is over, and nothing has happened');
      await this.advance(Math.max(0, next.at - this.#now));
    }
  }

  async #settled(): Promise<void> {
    // Promise callbacks of what has just ended may begin something new.
    do {
      while (this.#held > 0) {
        await new Promise<void>((resolve) => {
          this.#whenIdle = resolve;
        });
      }
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    } while (this.#held > 0);
  }
}
