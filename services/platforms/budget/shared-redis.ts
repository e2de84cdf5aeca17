import type { RedisClient } from '#kit/redis/client.ts';
import type { Breaker, Breakers } from '#kit/resilience/breaker.ts';
import { within } from '#kit/resilience/deadline.ts';
import type { Logger } from '#kit/telemetry/log.ts';

/** What a call may wait for Redis. */
const REDIS_MS = 50;
/** Half a second of timeouts is enough to stop waiting for Redis, which is probed in the background from then on. */
const BREAKER = { windowMs: 500, leastCalls: 3, failedPercent: 50, openMs: 1_000 };

export interface SharedRedisOptions {
  /** Left out: nothing is shared. */
  redis: RedisClient | undefined;
  /** Among how many processes what a platform grants is divided while Redis is away. */
  processes: number;
  breakers: Breakers;
  log: Logger;
}

/** Redis as the limits of the platforms use it: no call waits for it for long, and all go on without it. */
export class SharedRedis {
  readonly processes: number;
  readonly #redis: { client: RedisClient; breaker: Breaker } | undefined;
  readonly #log: Logger;
  #isReported = false;

  constructor({ redis, processes, breakers, log }: SharedRedisOptions) {
    this.processes = processes;
    // Redis rejects nothing: each error means that it did not answer.
    this.#redis = redis && { client: redis, breaker: breakers.create('redis', () => true, BREAKER) };
    // The connection rejects what it does not answer within a second.
    this.#redis?.breaker.probeWith(() => within(REDIS_MS, (redis as RedisClient).ping()));
    this.#log = log;
  }

  /** Whether each process goes by what it knows itself. A single timeout does not count. */
  get isDegraded(): boolean {
    if (!this.#redis) return this.processes > 1;
    return this.#redis.breaker.isOpen || this.#redis.client.status !== 'ready';
  }

  /** Of a number that the platform grants to all processes together, what this one may use now; 1 at least. */
  shareOf(granted: number): number {
    return this.isDegraded ? Math.max(1, Math.floor(granted / this.processes)) : granted;
  }

  /** The outcome of the work; undefined where Redis did not answer in time. */
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

  #recovered(): void {
    if (!this.#isReported) return;
    this.#isReported = false;
    this.#log.info('limits of the platforms are shared among the processes again');
  }

  #failed(error: unknown): void {
    if (this.#isReported || !this.isDegraded) return;
    this.#isReported = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#log.warn({ error: reason }, 'Redis unavailable, limits of the platforms are divided among the processes');
  }
}
