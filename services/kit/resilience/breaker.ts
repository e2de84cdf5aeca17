import CircuitBreaker from 'opossum';
import { ApiError } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** Within `windowMs`, at least `leastCalls`, of which more than `failedPercent` failed, open a breaker. */
export interface BreakerOptions {
  windowMs: number;
  leastCalls: number;
  failedPercent: number;
  /** How long an open breaker rejects calls before the dependency is tried again. */
  openMs: number;
}

const DEFAULTS: BreakerOptions = { windowMs: 10_000, leastCalls: 10, failedPercent: 50, openMs: 2_000 };

/** Of the time that a breaker stays open, up to how much longer its probe may wait: replicas must not probe together. */
const PROBE_JITTER = 0.5;

/** Thrown by an action that came to no end: it says nothing of the dependency. */
export class Inconclusive extends Error {}

/** Any failure of a probe keeps the breaker open. */
class ProbeFailure extends Error {}

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

/**
 * Rejects calls to a dependency that keeps failing, so that nobody waits for it in vain. With a probe, a background call
 * finds out when the dependency is back; without one (such as for another company's API), the next caller's call does.
 */
export class Breaker {
  readonly #circuit: CircuitBreaker<[Action]>;
  readonly #dependency: string;
  #hasProbe = false;
  #nextProbe: NodeJS.Timeout | undefined;

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
      errorFilter: (error) => {
        if (error instanceof ProbeFailure) return false;
        return error instanceof Inconclusive ? !this.#circuit.halfOpen : !isFailure(error);
      },
    });
  }

  /**
   * Makes `probe` the only call that is tried while the breaker is open: in the background, with jitter, again and again
   * until it succeeds. It must have a deadline of its own, and show that the dependency responds at all. To be set once.
   */
  probeWith(probe: () => Promise<unknown>): void {
    this.#hasProbe = true;
    const action = async () => {
      await probe().catch((cause: unknown) => {
        throw new ProbeFailure('the probe failed', { cause });
      });
    };
    this.#circuit.on('halfOpen', (openMs) => {
      const jitterMs = Math.random() * PROBE_JITTER * openMs;
      this.#nextProbe = setTimeout(() => {
        // The circuit counts the failure, and stays open for another while.
        this.#circuit.fire(action).catch(() => undefined);
      }, jitterMs).unref();
    });
  }

  /** Calls `changed` each time that the breaker has opened or closed. */
  onChange(changed: (isOpen: boolean) => void): void {
    this.#circuit.on('close', () => changed(false));
    this.#circuit.on('open', () => changed(true));
  }

  /** Whether calls are rejected; also while the dependency is being tried. */
  get isOpen(): boolean {
    return !this.#circuit.closed;
  }

  /** Throws UNAVAILABLE while it is open, for calls that are not to be counted. */
  requireClosed(): void {
    if (this.isOpen) throw this.#unavailable();
  }

  /** The action's outcome; UNAVAILABLE without calling it while the breaker is open. */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    if (this.#hasProbe) this.requireClosed();
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
      throw this.#unavailable();
    }
  }

  #unavailable(): ApiError {
    return new ApiError('UNAVAILABLE', { cause: new Error(`the breaker of ${this.#dependency} is open`) });
  }

  stop(): void {
    clearTimeout(this.#nextProbe);
    this.#circuit.shutdown();
  }
}
