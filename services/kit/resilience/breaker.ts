import CircuitBreaker from 'opossum';
import { ApiError } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/**
 * The limits of a circuit breaker: it opens if at least `minCalls` ended within `windowMs` and more than
 * `failedPercent` of them failed.
 */
export interface BreakerOptions {
  windowMs: number;
  minCalls: number;
  failedPercent: number;
  /** How long, in milliseconds, an open circuit breaker rejects calls before it tries the dependency again. */
  openMs: number;
}

/** A dependency with a probe that has recovered is used again within one and a half seconds and the duration of the probe. */
const DEFAULTS: BreakerOptions = { windowMs: 10_000, minCalls: 10, failedPercent: 50, openMs: 1_000 };

/**
 * The share of the open time by which a circuit breaker's probe is delayed at random, at most, so that replicas do not
 * probe together.
 */
const PROBE_JITTER = 0.5;

/**
 * Thrown by a call that was abandoned before it had a result, or the cause of its error: the circuit breaker learns
 * nothing about the dependency from it.
 */
export class InconclusiveError extends Error {}

/**
 * Wraps the error of a probe. A failed probe keeps the circuit breaker open, even if a call with the same error would
 * not count as failed.
 */
class ProbeFailure extends Error {}

type Action = () => Promise<unknown>;

/** Creates the circuit breakers of a process, one per dependency, and reports in a metric which of them are open. */
export class Breakers {
  readonly #all = new Map<string, Breaker>();

  constructor(metrics: Metrics) {
    metrics.gauge(
      'breaker_open',
      '1 while the circuit breaker rejects calls to the dependency, otherwise 0',
      ['dependency'],
      (gauge) => {
        for (const [name, breaker] of this.#all) gauge.set({ dependency: name }, breaker.isOpen ? 1 : 0);
      },
    );
  }

  /**
   * Creates the circuit breaker of a dependency. `isFailure` returns true for errors which show that the dependency is
   * down, and false for its ordinary rejections, which count as successes. An InconclusiveError neither opens nor
   * closes the breaker.
   */
  create(dependency: string, isFailure: (error: unknown) => boolean, options?: Partial<BreakerOptions>): Breaker {
    const breaker = new Breaker({ dependency, isFailure, ...options });
    this.#all.set(dependency, breaker);
    return breaker;
  }

  stop(): void {
    for (const breaker of this.#all.values()) breaker.stop();
  }
}

type SingleBreakerOptions = Partial<BreakerOptions> & {
  dependency: string;
  isFailure: (error: unknown) => boolean;
};

/**
 * A circuit breaker: it rejects calls immediately while a dependency keeps failing, so that no caller waits for a
 * timeout. With a probe, a background call finds out when the dependency responds again. Without a probe (for example
 * for a third-party API), the first call after the open time is the trial call.
 */
export class Breaker {
  readonly #circuit: CircuitBreaker<[Action]>;
  readonly #dependency: string;
  #hasProbe = false;

  constructor({ dependency, isFailure, ...options }: SingleBreakerOptions) {
    const { windowMs, minCalls, failedPercent, openMs } = { ...DEFAULTS, ...options };
    this.#dependency = dependency;
    this.#circuit = new CircuitBreaker((action: Action) => action(), {
      // The circuit breaker has no timeout, because every call has its own deadline.
      timeout: false,
      resetTimeout: openMs,
      rollingCountTimeout: windowMs,
      volumeThreshold: minCalls,
      errorThresholdPercentage: failedPercent,
      // Snapshots and percentiles are off, because nothing reads them, and each sorts the durations of all calls in the
      // window.
      enableSnapshots: false,
      rollingPercentilesEnabled: false,
      errorFilter: (error) => {
        if (error instanceof ProbeFailure) return false;
        return isInconclusive(error) ? !this.#circuit.halfOpen : !isFailure(error);
      },
    });
  }

  /**
   * Makes `probe` the only call that is tried while the circuit breaker is open: in the background, with jitter,
   * repeatedly until it succeeds. The probe must have its own deadline and succeed only if the dependency responds. Set
   * a probe only once.
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
      setTimeout(() => {
        // After a failed probe the circuit opens again, and emits halfOpen again after the open time.
        this.#circuit.fire(action).catch(() => undefined);
      }, jitterMs).unref();
    });
  }

  /** Calls `changed` each time the circuit breaker opens or closes. */
  onChange(changed: (isOpen: boolean) => void): void {
    this.#circuit.on('close', () => changed(false));
    this.#circuit.on('open', () => changed(true));
  }

  /** True while the circuit breaker rejects calls, including while a trial call is in flight. */
  get isOpen(): boolean {
    return !this.#circuit.closed;
  }

  /** Throws UNAVAILABLE while the circuit breaker is open; used for calls whose results must not be counted. */
  requireClosed(): void {
    if (this.isOpen) throw this.#unavailable();
  }

  /**
   * Runs a call to the dependency and returns its result. Throws UNAVAILABLE without running it while the circuit
   * breaker is open.
   */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    if (this.#hasProbe) this.requireClosed();
    try {
      if (this.isOpen) return (await this.#circuit.fire(action)) as Result;
      // The call starts outside of the circuit: if the circuit opens meanwhile, the result of this call must not count as
      // the result of the trial call.
      const call = action();
      await call.catch(() => undefined);
      return this.isOpen ? await call : ((await this.#circuit.fire(() => call)) as Result);
    } catch (error) {
      throw error instanceof Error && CircuitBreaker.isOurError(error) ? this.#unavailable() : error;
    }
  }

  #unavailable(): ApiError {
    return new ApiError('UNAVAILABLE', { cause: new Error(`the breaker of ${this.#dependency} is open`) });
  }

  /** Stops the probes, also one that its jitter still delays. Calls end with UNAVAILABLE from then on. */
  stop(): void {
    this.#circuit.shutdown();
  }
}

function isInconclusive(error: unknown): boolean {
  return error instanceof InconclusiveError || (error instanceof Error && error.cause instanceof InconclusiveError);
}
