import { performance } from 'node:perf_hooks';
import { ApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';

const LOG_EVERY_MS = 1_000;

/** The error message of each limit on concurrent requests: of the whole gateway, or of one guild or client address. */
const MESSAGES = {
  in_flight: 'Too many requests are in flight, try again soon',
  receiving: 'Too many request bodies are being received, try again soon',
  polls: 'Too many polls are waiting, try again soon',
  guild: 'Too many requests of this guild are in flight, try again soon',
  guild_polls: 'Too many polls of this guild are waiting, try again soon',
  address: 'Too many requests from this address are being authenticated, try again soon',
  interactions: 'Too many slash commands are being received, try again soon',
} as const;

export type Bound = keyof typeof MESSAGES;

/**
 * The error of a request that exceeds a limit on concurrent requests. It is no failure of any service, so no circuit
 * breaker counts it.
 */
export class OverloadError extends ApiError {
  readonly bound: Bound;

  constructor(bound: Bound) {
    super('UNAVAILABLE', { message: MESSAGES[bound], retryAfter: 1 });
    this.bound = bound;
  }
}

const BOUNDS = Object.keys(MESSAGES) as Bound[];

/** One shared error object for each limit, because under overload creating an error costs more than all checks. */
export const OVERLOADS = Object.fromEntries(BOUNDS.map((bound) => [bound, new OverloadError(bound)])) as Record<
  Bound,
  OverloadError
>;

export interface OverloadLogOptions {
  metrics: Metrics;
  log: Logger;
  /** Returns monotonic time in milliseconds. */
  now?: () => number;
}

/** Counts requests rejected because of overload, and logs a warning about them at most once a second. */
export class OverloadLog {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #rejections;
  #unlogged = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor({ metrics, log, now = () => performance.now() }: OverloadLogOptions) {
    this.#log = log;
    this.#now = now;
    const help = 'Requests rejected with 503 because a limit on concurrent requests was reached, by limit';
    this.#rejections = metrics.counterOf('gateway_overload_rejections_total', help, 'bound', BOUNDS);
  }

  /** Counts a rejected request. `bound` is the limit that was reached. */
  rejected(bound: Bound): void {
    this.#rejections.inc({ bound });
    this.#unlogged++;
    const now = this.#now();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#log.warn({ rejected: this.#unlogged, bound }, 'requests rejected because too many are in flight');
    this.#loggedAt = now;
    this.#unlogged = 0;
  }
}
