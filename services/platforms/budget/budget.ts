import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { currentPurpose, PURPOSES } from '#kit/context.ts';
import { ApiError } from '#kit/errors.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { MemoryTurns } from './memory-slots.ts';
import { RedisTurns } from './redis-slots.ts';
import { nameOf } from './script.ts';
import type { SharedRedis } from './shared-redis.ts';
import type { Allowance, Caller } from './slots.ts';

export interface CallBudgetOptions {
  shared: SharedRedis;
  /** Names the metrics. */
  platform: 'chat' | 'game';
  /** By whom the platform knows us, and for which calls: whoever has the same shares the budget. */
  credential: string;
  /** Of all processes together. */
  allowance: Allowance;
  metrics: Metrics;
}

/** The calls that a platform grants us, for all our processes together; fair to guilds, the more urgent ones first. */
export class CallBudget {
  readonly #shared: SharedRedis;
  readonly #platform: string;
  readonly #name: string;
  readonly #allowance: Allowance;
  readonly #own: MemoryTurns;
  readonly #waits;
  readonly #refused;

  constructor({ shared, platform, credential, allowance, metrics }: CallBudgetOptions) {
    this.#shared = shared;
    this.#platform = platform;
    this.#name = nameOf(credential);
    this.#allowance = allowance;
    this.#own = new MemoryTurns({ ...allowance, places: Math.max(1, Math.floor(allowance.places / shared.processes)) });
    this.#waits = metrics.duration(
      `${platform}_budget_wait_seconds`,
      `Time until a call of the ${platform} platform had its turn`,
      ['purpose'],
    );
    this.#refused = metrics.counterOf(
      `${platform}_budget_refused_total`,
      `Calls of the ${platform} platform that had no turn in time`,
      'purpose',
      PURPOSES,
    );
    metrics
      .gauge(
        `${platform}_budget_degraded`,
        `1 while each process has its own share of the calls of the ${platform} platform, because Redis is away`,
        [],
        (gauge) => gauge.set(shared.isDegraded ? 1 : 0),
      )
      .set(0);
  }

  /** The call's outcome, once it has its turn; UNAVAILABLE without calling when that takes longer than `patienceMs`. */
  async run<Result>(guildId: string, patienceMs: number, call: () => Promise<Result>): Promise<Result> {
    const caller = { id: randomUUID(), guildId, purpose: currentPurpose() };
    await this.#wait(caller, performance.now() + patienceMs);
    try {
      return await call();
    } finally {
      this.#leave(caller.id);
    }
  }

  async #wait(caller: Caller, until: number): Promise<void> {
    const { purpose } = caller;
    const waited = this.#waits.startTimer({ purpose });
    for (;;) {
      const wait = await this.#take(caller);
      if (wait === 0) break;
      if (performance.now() + wait > until) {
        this.#leave(caller.id);
        this.#refused.inc({ purpose });
        throw new ApiError('UNAVAILABLE', { message: `Too many calls to the ${this.#platform} platform are waiting` });
      }
      await sleep(wait);
    }
    waited();
  }

  /** By Redis; by our own share when Redis does not answer in time. */
  async #take(caller: Caller): Promise<number> {
    const wait = await this.#shared.run((redis) => this.#turns(redis).take(caller));
    if (wait === undefined) return this.#own.take(caller);
    // So that our own share knows of it, should Redis go away now.
    if (wait === 0) this.#own.occupy(caller.id);
    return wait;
  }

  /** Nobody waits for it; what is lost is free again after a while. */
  #leave(id: string): void {
    void this.#own.leave(id);
    void this.#shared.run((redis) => this.#turns(redis).leave(id));
  }

  #turns(redis: ConstructorParameters<typeof RedisTurns>[0]): RedisTurns {
    return new RedisTurns(redis, this.#name, this.#allowance);
  }
}
