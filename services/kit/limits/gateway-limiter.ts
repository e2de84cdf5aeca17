import type { Clock } from '../clock.ts';
import type { RedisClient } from '../redis/client.ts';
import type { Breakers } from '../resilience/breaker.ts';
import { DeadlineError, within } from '../resilience/deadline.ts';
import type { Logger } from '../telemetry/log.ts';
import { countFromZero, type Metrics } from '../telemetry/metrics.ts';
import { recordedSpan } from '../telemetry/tracing/current-span.ts';
import { type Decision, LIMIT_CATEGORIES, type Limit, type Limiter } from './limiter.ts';
import { MemoryLimiter, rejectExhausted, type Snapshot } from './memory.ts';
import { type Counts, exactDecision, RedisLimiter } from './redis.ts';
import { RedisBreakers } from './redis-breakers.ts';

/** The timeout of a rate limit decision by Redis, in milliseconds. */
const DECISION_MS = 50;

/** The decision in a trace. It includes the wait for the script that decides many requests together. */
const RATE_LIMITS = {
  name: 'EVALSHA rate limits',
  attributes: { 'db.system.name': 'redis', 'db.operation.name': 'EVALSHA' },
};

export interface GatewayLimiterOptions {
  /** The Redis that all gateways share; if undefined, this process counts alone. */
  redis: RedisClient | undefined;
  /** GATEWAY_REPLICAS: the rate limits are divided by this number while Redis is unavailable. */
  replicas: number;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
  breakers: Breakers;
  windowMs?: number;
  /** The timeout of a rate limit decision by Redis, in milliseconds. */
  decisionMs?: number;
}

/**
 * The rate limiter of a gateway. Redis decides exactly; if Redis does not respond in time, this process decides from
 * its own counts, so that no request waits long for Redis or fails because of it.
 */
export class GatewayLimiter implements Limiter {
  readonly #redis: { limiter: RedisLimiter; breakers: RedisBreakers } | undefined;
  readonly #memory: MemoryLimiter;
  readonly #log: Logger;
  readonly #decisions;
  readonly #replicas: number;
  readonly #decisionMs: number;
  #isLossLogged = false;

  constructor(options: GatewayLimiterOptions) {
    const { redis, replicas, clock, log, metrics, breakers, windowMs } = options;
    this.#decisionMs = options.decisionMs ?? DECISION_MS;
    this.#redis = redis && this.#guarded(redis, breakers, windowMs);
    this.#memory = new MemoryLimiter({ clock, replicas, windowMs });
    this.#log = log;
    this.#replicas = replicas;
    const help = 'Requests that rate limits were applied to, by the category that decided';
    this.#decisions = metrics.counter('gateway_limit_decisions_total', help, ['category', 'decision', 'mode']);
    const modes = ['exact', 'degraded'] as const;
    countFromZero(
      this.#decisions,
      LIMIT_CATEGORIES.flatMap((category) => modes.map((mode) => ({ category, decision: 'rejected', mode }))),
    );
    const degraded = '1 while rate limits are approximate because Redis is unavailable';
    metrics.gauge('gateway_limiter_degraded', degraded, [], (gauge) => gauge.set(this.isDegraded ? 1 : 0));
  }

  /**
   * Creates the limiter in Redis. Each call has a timeout and runs in the circuit breaker of its Redis server, which
   * rejects the call immediately while it is open.
   */
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

  /** True while rate limits are approximate: a Redis server is unavailable, or several gateways run without Redis. */
  get isDegraded(): boolean {
    if (!this.#redis) return this.#replicas > 1;
    const { limiter, breakers } = this.#redis;
    return !limiter.isConnected || breakers.isAnyOpen(limiter.servers);
  }

  async decide(guildId: string, limits: readonly Limit[]): Promise<Decision> {
    const [first] = limits;
    if (!first) return { allowed: true, mode: 'exact', states: [] };
    const decision = await this.#decide(guildId, limits);
    const { mode } = decision;
    if (decision.allowed) this.#decisions.inc({ category: first.category, decision: 'allowed', mode });
    else this.#decisions.inc({ category: decision.rejectedBy.category, decision: 'rejected', mode });
    return decision;
  }

  async #decide(guildId: string, limits: readonly Limit[]): Promise<Decision> {
    const redis = this.#redis;
    if (!redis) return this.#memory.decide(guildId, limits);
    const known = this.#memory.snapshot(guildId, limits);
    const rejected = rejectExhausted(limits, known);
    if (rejected) return rejected;
    const breaker = redis.breakers.of(redis.limiter.serverOf(guildId));
    if (breaker.isOpen) return this.#decideLocally(guildId, limits);
    try {
      const count = () => this.#countInRedis(redis.limiter, guildId, limits, known);
      const counts = await (recordedSpan()?.call(RATE_LIMITS, count) ?? count());
      this.#memory.learn(guildId, limits, known, counts);
      return exactDecision(limits, counts);
    } catch (error) {
      this.#logLoss(error);
      return this.#decideLocally(guildId, limits);
    }
  }

  #decideLocally(guildId: string, limits: readonly Limit[]): Decision {
    return { ...this.#memory.decide(guildId, limits), mode: 'degraded' };
  }

  async #countInRedis(
    redis: RedisLimiter,
    guildId: string,
    limits: readonly Limit[],
    known: Snapshot,
  ): Promise<Counts> {
    const startedAt = performance.now();
    const deadline = this.#memory.deadline(known, this.#decisionMs);
    const counts = await redis.count(guildId, limits, { ...known, deadline });
    if (!counts.isLate) return counts;
    // Redis found that the deadline has passed although this request still waits, so one of the clocks was set. Call
    // Redis again without a deadline.
    const remainingMs = this.#decisionMs - (performance.now() - startedAt);
    if (remainingMs <= 0) throw new DeadlineError(this.#decisionMs);
    return within(remainingMs, redis.count(guildId, limits, { ...known, deadline: 0 }));
  }

  /** Logs that all Redis servers respond again. Redis gets the local counts with each guild's next request. */
  #logRecovery(): void {
    if (!this.#isLossLogged || this.isDegraded) return;
    this.#isLossLogged = false;
    this.#log.info('rate limits are counted in Redis again');
  }

  #logLoss(error: unknown): void {
    if (this.#isLossLogged || !this.isDegraded) return;
    this.#isLossLogged = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#log.warn({ error: reason }, 'rate limits are counted without Redis');
  }
}
