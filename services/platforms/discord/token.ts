import { performance } from 'node:perf_hooks';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { within } from '#kit/resilience/deadline.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { PlatformResponse } from '../http/host.ts';

/**
 * How long calls to the chat platform are suspended after a 401, because it bans addresses that keep making invalid
 * requests.
 */
const SUSPENDED_MS = 600_000;
/**
 * While calls are suspended, one call per this many milliseconds probes whether the platform accepts the bot token
 * again.
 */
const PROBE_INTERVAL_MS = 60_000;

/** Suspends calls to the chat platform while it rejects the bot token. */
export class TokenGuard {
  readonly #clock: Clock;
  readonly #log: Logger;
  #suspendedUntil = 0;
  #nextProbeAt = 0;
  /** Settles together with the probing call that is in flight; never rejects. */
  #probe: Promise<void> | undefined;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Waits for a probing call in flight. Throws UNAVAILABLE while calls are suspended; `until` is by performance.now().
   */
  async requireAccepted(until: number): Promise<void> {
    while (this.#probe) await this.#awaitProbe(this.#probe, until);
    this.#requireNotSuspended();
  }

  /**
   * Makes a call to the chat platform. While the bot token is rejected, the first call of each minute is the probe, and
   * other calls wait for its outcome.
   */
  async run<Response extends PlatformResponse>(until: number, call: () => Promise<Response>): Promise<Response> {
    while (this.#probe) await this.#awaitProbe(this.#probe, until);
    this.#requireNotSuspended();
    if (!this.#isRejected) return this.#checked(call);
    // Nothing is awaited between the checks above and the start of the probe, so only one caller becomes the probe.
    this.#nextProbeAt = this.#clock.now() + PROBE_INTERVAL_MS;
    const probe = this.#checked(call);
    const end = () => {
      this.#probe = undefined;
    };
    this.#probe = probe.then(end, end);
    return probe;
  }

  async #checked<Response extends PlatformResponse>(call: () => Promise<Response>): Promise<Response> {
    const response = await call();
    if (response.status === 401) throw this.#reject();
    this.#accept();
    return response;
  }

  get #isRejected(): boolean {
    return this.#clock.now() < this.#suspendedUntil;
  }

  #requireNotSuspended(): void {
    if (this.#isRejected && this.#clock.now() < this.#nextProbeAt) throw this.#rejectedError();
  }

  #reject(): ApiError {
    const now = this.#clock.now();
    if (!this.#isRejected) {
      this.#log.error('chat platform rejected CHAT_BOT_TOKEN with 401: set a valid token and restart');
      this.#nextProbeAt = now + PROBE_INTERVAL_MS;
    }
    this.#suspendedUntil = now + SUSPENDED_MS;
    return this.#rejectedError();
  }

  #accept(): void {
    if (this.#isRejected) this.#log.info('chat platform accepts CHAT_BOT_TOKEN again');
    this.#suspendedUntil = 0;
  }

  #awaitProbe(probe: Promise<void>, until: number): Promise<void> {
    return within(Math.max(0, until - performance.now()), probe).catch(() => {
      throw this.#rejectedError();
    });
  }

  /**
   * Returns the error for calls that are suspended. While a probe is in flight its outcome is known soon, so clients
   * may retry after a second.
   */
  #rejectedError(): ApiError {
    const retryAfter = this.#probe ? 1 : (this.#nextProbeAt - this.#clock.now()) / 1000;
    return new ApiError('UNAVAILABLE', { message: 'The chat platform rejects the bot token', retryAfter });
  }
}
