import { createHash, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Breaker, Breakers } from '#kit/breaker.ts';
import { within } from '#kit/deadline.ts';
import { ApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Metrics } from '#kit/metrics.ts';
import type { RedisClient } from '#kit/redis.ts';
import { MemoryTurns } from './memory.ts';
import { isInBackground } from './purpose.ts';
import { RedisTurns } from './redis.ts';
import type { Caller, Turns } from './turns.ts';

/** What a turn may wait for Redis. */
const REDIS_MS = 50;
/** Half a second of timeouts is enough to stop waiting for Redis, which is probed in the background from then on. */
const BREAKER = { windowMs: 500, leastCalls: 3, failedPercent: 50, openMs: 1_000 };

export interface CallBudgetOptions {
  /** Left out: this process has its share alone. */
  redis: RedisClient | undefined;
  /** By whom the platform knows us: whoever has the same shares the budget. */
  credential: string;
  /** Of all processes together. */
  callsPerSecond: number;
  /** Over how many the budget is parted while Redis is away. */
  processes: number;
  breakers: Breakers;
  metrics: Metrics;
  log: Logger;
}

/** The calls a second that a platform grants us, for all our processes together. */
export class CallBudget {
  readonly #redis: { turns: RedisTurns; breaker: Breaker } | undefined;
  readonly #own: MemoryTurns;
  readonly #processes: number;
  readonly #log: Logger;
  readonly #waits;
  readonly #refused;
  #isReported = false;

  constructor(options: CallBudgetOptions) {
    const { redis, credential, callsPerSecond, processes, breakers, metrics, log } = options;
    const name = createHash('sha256').update(credential).digest('hex').slice(0, 16);
    // Redis refuses nothing: each error means that it could not be asked.
    this.#redis = redis && {
      turns: new RedisTurns(redis, name, callsPerSecond),
      breaker: breakers.create('redis', () => true, BREAKER),
    };
    // The connection rejects what it does not answer within a second.
    this.#redis?.breaker.probeWith(() => within(REDIS_MS, (redis as RedisClient).ping()));
    this.#own = new MemoryTurns(Math.max(1, Math.floor(callsPerSecond / processes)));
    this.#processes = processes;
    this.#log = log;
    this.#waits = metrics.duration('chat_budget_wait_seconds', 'Time until a call had its turn', ['purpose']);
    this.#refused = metrics.counterOf('chat_budget_refused_total', 'Calls that had no turn in time', 'purpose', [
      'request',
      'job',
    ]);
    metrics.gauge(
      'chat_budget_degraded',
      '1 while each process has a share of the chat platform alone, for want of Redis',
      [],
      (gauge) => gauge.set(this.isDegraded ? 1 : 0),
    );
  }

  /** Whether each process has its own share now. A lone time-out is none. */
  get isDegraded(): boolean {
    if (!this.#redis) return this.#processes > 1;
    return this.#redis.breaker.isOpen || !this.#redis.turns.isConnected;
  }

  /** The call's outcome, once it has its turn; UNAVAILABLE without calling when that takes longer than `patienceMs`. */
  async run<Result>(guildId: string, patienceMs: number, call: () => Promise<Result>): Promise<Result> {
    const caller = { id: randomUUID(), guildId, isJob: isInBackground() };
    await this.#wait(caller, performance.now() + patienceMs);
    try {
      return await call();
    } finally {
      this.#leave(caller.id);
    }
  }

  async #wait(caller: Caller, until: number): Promise<void> {
    const purpose = caller.isJob ? 'job' : 'request';
    const waited = this.#waits.startTimer({ purpose });
    for (;;) {
      const wait = await this.#take(caller);
      if (wait === 0) break;
      if (performance.now() + wait > until) {
        this.#leave(caller.id);
        this.#refused.inc({ purpose });
        throw new ApiError('UNAVAILABLE', { message: 'Too many calls to the chat platform are waiting' });
      }
      await sleep(wait);
    }
    waited();
  }

  /** By Redis; by our own share when Redis does not answer in time. */
  async #take(caller: Caller): Promise<number> {
    const redis = this.#redis;
    if (!redis) return this.#own.take(caller);
    try {
      const wait = await redis.breaker.run(() => within(REDIS_MS, redis.turns.take(caller)));
      // So that our own share knows of it, should Redis go away now.
      if (wait === 0) this.#own.occupy(caller.id);
      this.#recovered();
      return wait;
    } catch (error) {
      this.#failed(error);
      return this.#own.take(caller);
    }
  }

  /** Nobody waits for it; what is lost is free again after a while. */
  #leave(id: string): void {
    const all: Turns[] = [this.#own, ...(this.#redis ? [this.#redis.turns] : [])];
    for (const turns of all) void turns.leave(id).catch(() => undefined);
  }

  #recovered(): void {
    if (!this.#isReported) return;
    this.#isReported = false;
    this.#log.info('the budget of the chat platform is shared again');
  }

  #failed(error: unknown): void {
    if (this.#isReported || !this.isDegraded) return;
    this.#isReported = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#log.warn({ error: reason }, 'the budget of the chat platform is parted among the processes, without Redis');
  }
}
