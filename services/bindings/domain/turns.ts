import type { Clock } from '#kit/clock.ts';

/** Lets a number of pieces of work run at once, first come first served; one that hangs is passed over after a while. */
export class Turns {
  readonly #most: number;
  readonly #hangsMs: number;
  readonly #clock: Clock;
  /** By piece of work, when it began. */
  readonly #running = new Map<symbol, number>();
  readonly #waiting = new Set<() => void>();

  constructor(most: number, hangsMs: number, clock: Clock) {
    this.#most = most;
    this.#hangsMs = hangsMs;
    this.#clock = clock;
  }

  /** Does the work when it is its turn; does not begin it once the signal is aborted. */
  async run(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isFree()) await this.#change(signal);
    if (signal.aborted) {
      // It may have been woken for a place that it does not take.
      this.#wakeNext();
      return;
    }
    const piece = Symbol('piece of work');
    this.#running.set(piece, this.#clock.now());
    try {
      await work();
    } finally {
      this.#running.delete(piece);
      this.#wakeNext();
    }
  }

  #isFree(): boolean {
    const now = this.#clock.now();
    for (const [piece, began] of this.#running) if (began + this.#hangsMs <= now) this.#running.delete(piece);
    return this.#running.size < this.#most;
  }

  /** Until a place has come free, or it is too late. */
  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  #wakeNext(): void {
    const [next] = this.#waiting;
    next?.();
  }
}
