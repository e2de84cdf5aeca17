import type { Clock } from '#kit/clock.ts';
import type { RedisClient } from '#kit/redis/client.ts';
import type { Breakers } from '#kit/resilience/breaker.ts';
import { DeadlineError, within } from '#kit/resilience/deadline.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { type Awaitable, andThen } from '../and-then.ts';
import type { Decision, Limit, Limiter } from './limiter.ts';
import { MemoryLimiter, refuseExhausted, type Snapshot } from './memory.ts';
import { type Answer, exactDecision, RedisLimiter } from './redis.ts';
import { RedisBreakers } from './redis-breakers.ts';

/** What a decision may wait for Redis. */
const DECISION_MS = 50;

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
  /** What a decision may wait for Redis. */
  decisionMs?: number;
}

/**
 * The limits that a gateway enforces: exact by Redis, and by its own counts when Redis does not answer in time, so
 * that a decision neither waits nor fails with it.
 */
export class GatewayLimiter implements Limiter {
  readonly #redis: { limiter: RedisLimiter; breakers: RedisBreakers } | undefined;
  readonly #memory: MemoryLimiter;
  readonly #log: Logger;
  readonly #decisions;
  readonly #replicas: number;
  readonly #decisionMs: number;
  #reported = false;

  constructor(options: GatewayLimiterOptions) {
    const { redis, replicas, clock, log, metrics, breakers, windowMs } = options;
    this.#decisionMs = options.decisionMs ?? DECISION_MS;
    this.#redis = redis && this.#guarded(redis, breakers, windowMs);
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

  /** Nobody waits for a server that does not respond in time, nor for one that has just not done so. */
  #guarded(redis: RedisClient, breakers: Breakers, windowMs: number | undefined) {
    const limiter: RedisLimiter = new RedisLimiter(redis, {
      windowMs,
      guard: (server, call) => byServer.of(server).run(() => within(this.#decisionMs, call())),
    });
    const byServer = new RedisBreakers({
      breakers,
      probe: (server) => within(this.#decisionMs, limiter.check(server)),
      changed: () => this.#logRecovery(),
    });
    return { limiter, breakers: byServer };
  }

  /** Whether limits are approximate now: Redis, or a node of a Cluster, is away, or there are several gateways and none. */
  get isDegraded(): boolean {
    if (!this.#redis) return this.#replicas > 1;
    const { limiter, breakers } = this.#redis;
    return !limiter.isConnected || breakers.isAnyOpen(limiter.servers);
  }

  decide(guildId: string, limits: readonly Limit[]): Awaitable<Decision> {
    const [first] = limits;
    if (!first) return { allowed: true, mode: 'exact', states: [] };
    return andThen(this.#decide(guildId, limits), (decision) => {
      const { mode } = decision;
      if (decision.allowed) this.#decisions.inc({ category: first.category, decision: 'allowed', mode });
      else this.#decisions.inc({ category: decision.refusedBy.category, decision: 'refused', mode });
      return decision;
    });
  }

  #decide(guildId: string, limits: readonly Limit[]): Awaitable<Decision> {
    const redis = this.#redis;
    if (!redis) return this.#memory.decide(guildId, limits);
    const asked = this.#memory.snapshot(guildId, limits);
    const refused = refuseExhausted(limits, asked);
    if (refused) return refused;
    const breaker = redis.breakers.of(redis.limiter.serverOf(guildId));
    if (!breaker.isOpen) return this.#ask(redis.limiter, guildId, limits, asked);
    return this.#decideWithout(guildId, limits);
  }

  #decideWithout(guildId: string, limits: readonly Limit[]): Decision {
    return { ...this.#memory.decide(guildId, limits), mode: 'degraded' };
  }

  async #ask(redis: RedisLimiter, guildId: string, limits: readonly Limit[], asked: Snapshot): Promise<Decision> {
    try {
      const deadline = this.#memory.deadline(asked, this.#decisionMs);
      const startedAt = performance.now();
      let answer = await redis.count(guildId, limits, { window: asked.window, known: asked.known, deadline });
      if (answer.isLate) answer = await this.#askAgain(redis, guildId, limits, asked, startedAt);
      this.#memory.learn(guildId, limits, asked, answer);
      return exactDecision(limits, answer);
    } catch (error) {
      this.#logLoss(error);
      return this.#decideWithout(guildId, limits);
    }
  }

  /** Late and still waited for: one of the clocks was set. */
  async #askAgain(
    redis: RedisLimiter,
    guildId: string,
    limits: readonly Limit[],
    asked: Snapshot,
    startedAt: number,
  ): Promise<Answer> {
    const leftMs = this.#decisionMs - (performance.now() - startedAt);
    if (leftMs <= 0) throw new DeadlineError(this.#decisionMs);
    return within(leftMs, redis.count(guildId, limits, { ...asked, deadline: 0 }));
  }

  /** Once the last server that was away has responded. What passed meanwhile is reported with each guild's next request. */
  #logRecovery(): void {
    if (!this.#reported || this.isDegraded) return;
    this.#reported = false;
    this.#log.info('limits are exact again');
  }

  #logLoss(error: unknown): void {
    if (this.#reported || !this.isDegraded) return;
    this.#reported = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#log.warn({ error: reason }, 'limits are counted without Redis');
  }
}
