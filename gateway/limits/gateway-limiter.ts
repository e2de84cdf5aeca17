import type { Breaker, Breakers } from '#kit/breaker.ts';
import type { Clock } from '#kit/clock.ts';
import { within } from '#kit/deadline.ts';
import type { Logger } from '#kit/log.ts';
import type { Metrics } from '#kit/metrics.ts';
import type { RedisClient } from '#kit/redis.ts';
import type { Decision, Limit, Limiter } from './limiter.ts';
import { MemoryLimiter, refuseExhausted } from './memory.ts';
import { exactDecision, RedisLimiter } from './redis.ts';

/** What a decision may wait for Redis. */
const DECISION_MS = 50;
/** Half a second of time-outs is enough to stop waiting for Redis; a second later one request tries again. */
const BREAKER = { windowMs: 500, leastCalls: 3, failedPercent: 50, openMs: 1_000 };

export interface GatewayLimiterOptions {
  /** Left out: this process counts alone. */
  redis: RedisClient | undefined;
  /** GATEWAY_REPLICAS: by how many the limits are divided while Redis is away. */
  replicas: number;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
  breakers: Breakers;
  windowMs?: number;
}

/**
 * The limits that a gateway enforces: exact by Redis, and by its own counts when Redis does not answer in time, so
 * that a decision neither waits nor fails with it.
 */
export class GatewayLimiter implements Limiter {
  readonly #redis: { limiter: RedisLimiter; breaker: Breaker } | undefined;
  readonly #memory: MemoryLimiter;
  readonly #log: Logger;
  readonly #decisions;
  readonly #replicas: number;
  #reported = false;

  constructor({ redis, replicas, clock, log, metrics, breakers, windowMs }: GatewayLimiterOptions) {
    // Redis refuses nothing: each error means that it could not be asked.
    const breaker = redis && breakers.create('redis', () => true, BREAKER);
    this.#redis = redis && breaker && { limiter: new RedisLimiter(redis, windowMs), breaker };
    this.#memory = new MemoryLimiter({ clock, replicas, windowMs });
    this.#log = log;
    this.#replicas = replicas;
    this.#decisions = metrics.counter('gateway_limit_decisions_total', 'Requests that limits were applied to', [
      'category',
      'decision',
      'mode',
    ]);
    metrics.gauge('gateway_limiter_degraded', '1 while limits are approximate for want of Redis', [], (gauge) =>
      gauge.set(this.isDegraded ? 1 : 0),
    );
  }

  /** Whether limits are approximate now: Redis is away, or there are several gateways and none. A lone time-out is not. */
  get isDegraded(): boolean {
    if (!this.#redis) return this.#replicas > 1;
    return this.#redis.breaker.isOpen || !this.#redis.limiter.isConnected;
  }

  async decide(guildId: string, limits: readonly Limit[]): Promise<Decision> {
    const [first] = limits;
    if (!first) return { allowed: true, mode: 'exact', states: [] };
    const decision = await this.#decide(guildId, limits);
    const { mode } = decision;
    if (decision.allowed) this.#decisions.inc({ category: first.category, decision: 'allowed', mode });
    else this.#decisions.inc({ category: decision.refusedBy.category, decision: 'refused', mode });
    return decision;
  }

  async #decide(guildId: string, limits: readonly Limit[]): Promise<Decision> {
    const redis = this.#redis;
    if (!redis) return this.#memory.decideNow(guildId, limits);
    const asked = this.#memory.snapshot(guildId, limits);
    const refused = refuseExhausted(limits, asked);
    if (refused) return refused;
    try {
      const count = () => within(DECISION_MS, redis.limiter.count(guildId, limits, asked));
      const answer = await redis.breaker.run(count);
      this.#memory.learn(guildId, limits, asked, answer);
      this.#recovered();
      return exactDecision(limits, answer);
    } catch (error) {
      this.#failed(error);
      return { ...this.#memory.decideNow(guildId, limits), mode: 'degraded' };
    }
  }

  #recovered(): void {
    if (!this.#reported) return;
    this.#reported = false;
    this.#log.info('limits are exact again');
  }

  #failed(error: unknown): void {
    if (this.#reported || !this.isDegraded) return;
    this.#reported = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#log.warn({ error: reason }, 'limits are counted without Redis');
  }
}
