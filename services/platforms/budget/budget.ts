import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { currentPurpose, PURPOSES } from '#kit/context.ts';
import { ApiError } from '#kit/errors.ts';
import type { RedisClient } from '#kit/redis/client.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { MemorySlots } from './memory-slots.ts';
import { RedisSlots } from './redis-slots.ts';
import { credentialName } from './script.ts';
import type { SharedRedis } from './shared-redis.ts';
import type { Allowance, Caller } from './slots.ts';

export interface CallBudgetOptions {
  shared: SharedRedis;
  /** The platform in the names of the metrics. */
  platform: 'chat' | 'game';
  /**
   * Contains the bot token, or the API key and the kind of calls. Processes with the same credential share the call
   * budget.
   */
  credential: string;
  /** The rate limit of the platform, for all processes together. */
  allowance: Allowance;
  metrics: Metrics;
}

/**
 * The maximum numbers of calls of one purpose that wait in a process, of one guild and in total. Further calls are rejected
 * at once: with the usual rate limit of the chat platform they would wait for longer than callers do.
 */
const MAX_WAITING_OF_GUILD = 250;
const MAX_WAITING = 2_500;

/** The maximum number of parts whose slots a process counts in its memory; those of others are counted in Redis only. */
const MAX_PARTS = 1_000;

/**
 * Delays calls so that all processes together respect a rate limit of a platform: urgent calls first, guilds in
 * rotation.
 */
export class CallBudget {
  readonly #options: CallBudgetOptions;
  readonly #parts = new LRUCache<string, CallBudget>(maxEntries(MAX_PARTS));
  readonly #shared: SharedRedis;
  readonly #platform: string;
  readonly #name: string;
  readonly #allowance: Allowance;
  /** The slots that this process may use while Redis is unavailable. */
  readonly #own: MemorySlots;
  /** The number of waiting calls, by purpose, and by purpose and guild. */
  readonly #waiting = new Map<string, number>();
  readonly #waits: ReturnType<Metrics['duration']>;
  readonly #rejected: ReturnType<Metrics['counterOf']>;

  /** `whole` is the budget of which this one is a part. */
  constructor(options: CallBudgetOptions, whole?: CallBudget) {
    const { shared, platform, credential, allowance, metrics } = options;
    this.#options = options;
    this.#shared = shared;
    this.#platform = platform;
    this.#name = credentialName(credential);
    this.#allowance = allowance;
    this.#own = new MemorySlots({ ...allowance, slots: Math.max(1, Math.floor(allowance.slots / shared.processes)) });
    if (whole) {
      this.#waits = whole.#waits;
      this.#rejected = whole.#rejected;
      return;
    }
    this.#waits = metrics.duration(
      `${platform}_budget_wait_seconds`,
      `Time that a call to the ${platform} platform waited until the rate limit allowed it`,
      ['purpose'],
    );
    this.#rejected = metrics.counterOf(
      `${platform}_budget_rejected_total`,
      `Calls to the ${platform} platform that were rejected because the rate limit did not allow them in time`,
      'purpose',
      PURPOSES,
    );
    metrics
      .gauge(
        `${platform}_budget_degraded`,
        `1 while Redis is unavailable and each process has a fixed share of the rate limit of the ${platform} platform`,
        [],
        (gauge) => gauge.set(shared.isDegraded ? 1 : 0),
      )
      .set(0);
  }

  /** Returns the budget of a part of the platform that has this rate limit for itself, such as a universe. */
  ofPart(part: string): CallBudget {
    const known = this.#parts.get(part);
    if (known) return known;
    const budget = new CallBudget({ ...this.#options, credential: `${this.#options.credential} ${part}` }, this);
    this.#parts.set(part, budget);
    return budget;
  }

  /**
   * Makes the call as soon as the budget allows it. Throws UNAVAILABLE without calling if that would take longer than
   * `maxWaitMs`.
   */
  async run<Result>(guildId: string, maxWaitMs: number, call: () => Promise<Result>): Promise<Result> {
    const caller = { id: randomUUID(), guildId, purpose: currentPurpose() };
    await this.#wait(caller, performance.now() + maxWaitMs);
    try {
      return await call();
    } finally {
      this.#release(caller);
    }
  }

  async #wait(caller: Caller, until: number): Promise<void> {
    const { purpose, guildId } = caller;
    const counts = [purpose, `${purpose} ${guildId}`] as const;
    const [all, ofGuild] = counts.map((name) => this.#waiting.get(name) ?? 0) as [number, number];
    if (all >= MAX_WAITING || ofGuild >= MAX_WAITING_OF_GUILD) throw this.#reject(caller);
    for (const name of counts) this.#waiting.set(name, (this.#waiting.get(name) ?? 0) + 1);
    try {
      await this.#waitForSlot(caller, until);
    } finally {
      for (const name of counts) this.#leave(name);
    }
  }

  #leave(name: string): void {
    const left = (this.#waiting.get(name) ?? 0) - 1;
    if (left > 0) this.#waiting.set(name, left);
    else this.#waiting.delete(name);
  }

  async #waitForSlot(caller: Caller, until: number): Promise<void> {
    const stopTimer = this.#waits.startTimer({ purpose: caller.purpose });
    for (;;) {
      const wait = await this.#acquire(caller);
      if (wait === 0) break;
      if (performance.now() + wait > until) {
        this.#release(caller);
        throw this.#reject(caller);
      }
      await sleep(wait);
    }
    stopTimer();
  }

  #reject({ purpose }: Caller): ApiError {
    this.#rejected.inc({ purpose });
    const message = `Too many requests to the ${this.#platform} platform are queued, try again later`;
    return new ApiError('UNAVAILABLE', { message });
  }

  /** Acquires a slot in Redis, or in this process's own share of the slots if Redis is unavailable or too slow. */
  async #acquire(caller: Caller): Promise<number> {
    const wait = await this.#shared.run((redis) => this.#sharedSlots(redis).acquire(caller));
    if (wait === undefined) return this.#own.acquire(caller);
    // The process's own share counts the call too, in case Redis becomes unavailable while the call is in flight.
    if (wait === 0) this.#own.occupy(caller);
    return wait;
  }

  /** Releases a slot without waiting for Redis: if the command is lost, the slot becomes free when its lease ends. */
  #release(caller: Caller): void {
    void this.#own.release(caller);
    void this.#shared.run((redis) => this.#sharedSlots(redis).release(caller));
  }

  #sharedSlots(redis: RedisClient): RedisSlots {
    return new RedisSlots({ redis, name: this.#name, allowance: this.#allowance });
  }
}
