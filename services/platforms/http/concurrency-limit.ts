import { currentPurpose, PURPOSES, type Purpose } from '#kit/context.ts';
import { ApiError } from '#kit/errors.ts';

export interface GateOptions {
  /** How many may run at once. */
  most: number;
  /** How many may wait for each purpose; who comes after is rejected. */
  mostWaiting: number;
  /** How long one may wait. */
  patienceMs: number;
  /** What those who are turned away are told. */
  message: string;
}

type Turn = PromiseWithResolvers<void>;

/** Lets a number of actions run at once; others wait, the more urgent ones first, then first come first served. */
export class Gate {
  readonly #options: GateOptions;
  readonly #waiting: Record<Purpose, Set<Turn>> = { caller: new Set(), background: new Set(), job: new Set() };
  #running = 0;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** The action's outcome; UNAVAILABLE without running it when there is no turn in time. */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.#options.most) this.#running += 1;
    else await this.#turn();
    try {
      return await action();
    } finally {
      this.#leave();
    }
  }

  async #turn(): Promise<void> {
    const { mostWaiting, patienceMs, message } = this.#options;
    const waiting = this.#waiting[currentPurpose()];
    if (waiting.size >= mostWaiting) throw new ApiError('UNAVAILABLE', { message });
    const turn: Turn = Promise.withResolvers();
    waiting.add(turn);
    const timer = setTimeout(() => {
      waiting.delete(turn);
      turn.reject(new ApiError('UNAVAILABLE', { message }));
    }, patienceMs);
    await turn.promise.finally(() => clearTimeout(timer));
  }

  /** Hands the place to the first who waits. */
  #leave(): void {
    for (const purpose of PURPOSES) {
      const [next] = this.#waiting[purpose];
      if (!next) continue;
      this.#waiting[purpose].delete(next);
      next.resolve();
      return;
    }
    this.#running -= 1;
  }
}
