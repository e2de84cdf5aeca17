import { ApiError } from '#kit/errors.ts';

export interface GateOptions {
  /** How many may run at once. */
  most: number;
  /** How many may wait; who comes after is turned away. */
  mostWaiting: number;
  /** How long one may wait. */
  patienceMs: number;
  /** What those who are turned away are told. */
  message: string;
}

type Turn = PromiseWithResolvers<void>;

/** Lets a number of actions run at once; others wait for their turn, first come first served. */
export class Gate {
  readonly #options: GateOptions;
  readonly #waiting = new Set<Turn>();
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
    if (this.#waiting.size >= mostWaiting) throw new ApiError('UNAVAILABLE', { message });
    const turn: Turn = Promise.withResolvers();
    this.#waiting.add(turn);
    const timer = setTimeout(() => {
      this.#waiting.delete(turn);
      turn.reject(new ApiError('UNAVAILABLE', { message }));
    }, patienceMs);
    await turn.promise.finally(() => clearTimeout(timer));
  }

  /** Hands the place to the first who waits. */
  #leave(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    next.resolve();
  }
}
