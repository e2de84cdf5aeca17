import CircuitBreaker from 'opossum';
import { ApiError } from './errors.ts';
import type { Metrics } from './metrics.ts';

/** Within `windowMs`, at least `leastCalls`, of which more than `failedPercent` failed, open a breaker. */
export interface BreakerOptions {
  windowMs: number;
  leastCalls: number;
  failedPercent: number;
  /** How long an open breaker refuses before it lets one call try. */
  openMs: number;
}

const DEFAULTS: BreakerOptions = { windowMs: 10_000, leastCalls: 10, failedPercent: 50, openMs: 2_000 };

/** Thrown by an action that came to no end: it says nothing of the dependency. */
export class Inconclusive extends Error {}

type Action = () => Promise<unknown>;

/** Makes the breakers of a process, one per dependency, and shows their states. */
export class Breakers {
  readonly #all = new Map<string, Breaker>();

  constructor(metrics: Metrics) {
    metrics.gauge('breaker_open', '1 while calls to the dependency are refused', ['dependency'], (gauge) => {
      for (const [name, breaker] of this.#all) gauge.set({ dependency: name }, breaker.isOpen ? 1 : 0);
    });
  }

  /**
   * `isFailure` tells a dependency's failure from its refusal; refusals do not open the breaker. What is Inconclusive
   * neither opens nor closes it.
   */
  create(dependency: string, isFailure: (error: unknown) => boolean, options?: Partial<BreakerOptions>): Breaker {
    const breaker = new Breaker(dependency, isFailure, options);
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

  constructor(dependency: string, isFailure: (error: unknown) => boolean, options: Partial<BreakerOptions> = {}) {
    const { windowMs, leastCalls, failedPercent, openMs } = { ...DEFAULTS, ...options };
    this.#dependency = dependency;
    this.#circuit = new CircuitBreaker((action: Action) => action(), {
      // Every action has a deadline of its own.
      timeout: false,
      resetTimeout: openMs,
      rollingCountTimeout: windowMs,
      volumeThreshold: leastCalls,
      errorThresholdPercentage: failedPercent,
      // Nobody reads them, and each sorts the durations of all calls of the window.
      enableSnapshots: false,
      rollingPercentilesEnabled: false,
      errorFilter: (error) => (error instanceof Inconclusive ? !this.#circuit.halfOpen : !isFailure(error)),
    });
  }

  /** Whether calls are refused; also while a single one tries. */
  get isOpen(): boolean {
    return !this.#circuit.closed;
  }

  /** Whether it is open and would let the next call try. */
  get mayTry(): boolean {
    return this.#circuit.pendingClose;
  }

  /** The action's outcome; UNAVAILABLE without calling it while the breaker is open. */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    if (!this.#circuit.closed) return this.#fire(action);
    try {
      const result = await action();
      this.#count(result);
      return result;
    } catch (error) {
      // Judged by the circuit, unless it was opened meanwhile: then this must not be taken for the call that tries.
      if (this.#circuit.closed) await this.#circuit.fire(() => Promise.reject(error)).catch(() => undefined);
      throw error;
    }
  }

  /** What succeeds is only counted, as `fire` does: its own way around each call takes a twentieth of a look-up. */
  #count(result: unknown): void {
    if (!this.#circuit.closed) return;
    this.#circuit.emit('fire');
    this.#circuit.emit('success', result, 0);
  }

  async #fire<Result>(action: () => Promise<Result>): Promise<Result> {
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
