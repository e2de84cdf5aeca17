import { performance } from 'node:perf_hooks';
import type { RedisClient } from '#kit/redis/client.ts';
import type { Breaker, Breakers } from '#kit/resilience/breaker.ts';
import { within } from '#kit/resilience/deadline.ts';
import type { Logger } from '#kit/telemetry/log.ts';

/** The timeout of a Redis command, in milliseconds. */
const REDIS_MS = 50;
/**
 * The timeout of a command whose result decides whether a pause of the platform is respected, in milliseconds. After a
 * timeout such commands are not sent for a while.
 */
const PATIENT_REDIS_MS = 500;
const IMPATIENT_MS = 1_000;
/**
 * The settings of the circuit breaker: after half a second of timeouts calls stop waiting for Redis, and a probe in the
 * background finds out when Redis is back.
 */
const BREAKER = { windowMs: 500, minCalls: 3, failedPercent: 50, openMs: 1_000 };

export interface SharedRedisOptions {
  /** The Redis that all processes share; if undefined, the processes do not share their rate limits. */
  redis: RedisClient | undefined;
  /** The number of processes that divide the rate limits equally while Redis is unavailable. */
  processes: number;
  breakers: Breakers;
  log: Logger;
}

/**
 * Runs Redis commands for the platforms' rate limits: a call waits for Redis for 50 ms at most and continues without
 * it.
 */
export class SharedRedis {
  readonly processes: number;
  readonly #redis: { client: RedisClient; breaker: Breaker } | undefined;
  readonly #log: Logger;
  #isFailureLogged = false;
  #impatientUntil = 0;

  constructor({ redis, processes, breakers, log }: SharedRedisOptions) {
    this.processes = processes;
    // The commands sent to Redis are always valid, so every error means that Redis is unavailable.
    this.#redis = redis && { client: redis, breaker: breakers.create('redis', () => true, BREAKER) };
    // The Redis connection itself rejects a command without a reply after a second, so pings do not pile up.
    this.#redis?.breaker.probeWith(() => within(REDIS_MS, (redis as RedisClient).ping()));
    this.#log = log;
  }

  /** True while the processes do not share their rate limits. A single timeout of Redis does not count. */
  get isDegraded(): boolean {
    if (!this.#redis) return this.processes > 1;
    return this.#redis.breaker.isOpen || this.#redis.client.status !== 'ready';
  }

  /** Returns how much of a limit of all processes this process may use now, at least 1. */
  shareOf(granted: number): number {
    return this.isDegraded ? Math.max(1, Math.floor(granted / this.processes)) : granted;
  }

  /** Returns the result of work in Redis; undefined if Redis is unavailable or too slow. */
  async run<Result>(work: (redis: RedisClient) => Promise<Result>): Promise<Result | undefined> {
    const redis = this.#redis;
    if (!redis) return undefined;
    try {
      const result = await redis.breaker.run(() => within(REDIS_MS, work(redis.client)));
      this.#recovered();
      return result;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  /**
   * Does the same with a longer timeout, also while calls do not wait for Redis because it was slow. Only for commands
   * that are few, or that nobody waits for.
   */
  async runPatiently<Result>(work: (redis: RedisClient) => Promise<Result>): Promise<Result | undefined> {
    const client = this.#redis?.client;
    if (client?.status !== 'ready' || performance.now() < this.#impatientUntil) return undefined;
    try {
      return await within(PATIENT_REDIS_MS, work(client));
    } catch {
      this.#impatientUntil = performance.now() + IMPATIENT_MS;
      return undefined;
    }
  }

  #recovered(): void {
    if (!this.#isFailureLogged) return;
    this.#isFailureLogged = false;
    this.#log.info('Redis available again, rate limits of the platforms are shared among the processes');
  }

  #failed(error: unknown): void {
    if (this.#isFailureLogged || !this.isDegraded) return;
    this.#isFailureLogged = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#log.warn(
      { error: reason },
      'Redis unavailable, rate limits of the platforms are divided equally among the processes',
    );
  }
}
