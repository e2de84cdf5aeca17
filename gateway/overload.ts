import { performance } from 'node:perf_hooks';
import { ApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Metrics } from '#kit/metrics.ts';

const TELL_EVERY_MS = 1_000;

/** A gateway that is full refuses what comes; no part of it has failed. */
export class OverloadError extends ApiError {
  constructor() {
    super('UNAVAILABLE', { message: 'Too many requests are under way, try again soon', retryAfter: 1 });
  }
}

/** Counts what was refused for want of room, and warns of it once a second at most. */
export class OverloadLog {
  readonly #log: Logger;
  /** Milliseconds from whenever. */
  readonly #now: () => number;
  readonly #refusals;
  #untold = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(metrics: Metrics, log: Logger, now = () => performance.now()) {
    this.#log = log;
    this.#now = now;
    this.#refusals = metrics.counter(
      'gateway_overload_refusals_total',
      'Requests refused since too many were under way',
    );
  }

  refused(): void {
    this.#refusals.inc();
    this.#untold++;
    const now = this.#now();
    if (now - this.#toldAt < TELL_EVERY_MS) return;
    this.#log.warn({ refused: this.#untold }, 'too many requests are under way, some are refused');
    this.#toldAt = now;
    this.#untold = 0;
  }
}
