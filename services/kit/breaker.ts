import CircuitBreaker from 'opossum';
import { ApiError } from './errors.ts';
import type { Metrics } from './metrics.ts';

/** How long an open breaker refuses before it lets one call try. */
const OPEN_MS = 2_000;
/** Within this long, at least this many calls, of which this share failed, open it. */
const WINDOW_MS = 10_000;
const LEAST_CALLS = 10;
const FAILED_PERCENT = 50;

type Action = () => Promise<unknown>;

/** Makes the breakers of a process, one per dependency, and shows their states. */
export class Breakers {
  readonly #all = new Map<string, Breaker>();

  constructor(metrics: Metrics) {
    metrics.gauge('breaker_open', '1 while calls to the dependency are refused', ['dependency'], (gauge) => {
      for (const [name, breaker] of this.#all) gauge.set({ dependency: name }, breaker.isOpen ? 1 : 0);
    });
  }

  /** `isFailure` tells a dependency's failure from its refusal; refusals do not open the breaker. */
  create(dependency: string, isFailure: (error: unknown) => boolean): Breaker {
    const breaker = new Breaker(dependency, isFailure);
    this.#all.set(dependency, breaker);
    return breaker;
  }

  stop(): void {
    for (const breaker of this.#all.values()) breaker.stop();
  }
}

/** Refuses calls to a dependency that keeps failing, so that nobody waits for it in vain. */
export class Breaker {
  readonly #circuit: CircuitBreaker<[Action]>;
  readonly #dependency: string;

  constructor(dependency: string, isFailure: (error: unknown) => boolean) {
    this.#dependency = dependency;
    this.#circuit = new CircuitBreaker((action: Action) => action(), {
      // Every action has a deadline of its own.
      timeout: false,
      resetTimeout: OPEN_MS,
      rollingCountTimeout: WINDOW_MS,
      volumeThreshold: LEAST_CALLS,
      errorThresholdPercentage: FAILED_PERCENT,
      errorFilter: (error) => !isFailure(error),
    });
  }

  get isOpen(): boolean {
    return this.#circuit.opened;
  }

  /** The action's outcome; UNAVAILABLE without calling it while the breaker is open. */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return (await this.#circuit.fire(action)) as Result;
    } catch (error) {
      if (!(error instanceof Error && CircuitBreaker.isOurError(error))) throw error;
      throw new ApiError('UNAVAILABLE', { cause: new Error(`the breaker of ${this.#dependency} is open`) });
    }
  }

  stop(): void {
    this.#circuit.shutdown();
  }
}
