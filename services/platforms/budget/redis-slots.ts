import { PURPOSES } from '#kit/context.ts';
import type { RedisClient } from '#kit/redis/client.ts';
import { Script } from './script.ts';
import {
  type Allowance,
  assuredOf,
  CALLING_MS,
  type Caller,
  type CallerName,
  type CallSlots,
  leaseOf,
  MAX_WAIT_MS,
  releaseDelayOf,
  reserveOf,
} from './slots.ts';

const ACQUIRE = new Script('acquire');
const RELEASE = new Script('release');

/**
 * Grants the slots of a call budget (our own rate limit for a platform) that all processes share through Redis. Each
 * method is one atomic step in Redis and uses Redis's clock.
 */
export class RedisSlots implements CallSlots {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #allowance: Allowance;

  /** `name` identifies the call budget in Redis keys and must contain no secret. */
  constructor({ redis, name, allowance }: { redis: RedisClient; name: string; allowance: Allowance }) {
    this.#redis = redis;
    // The braces put all keys into one slot of a Redis Cluster.
    this.#prefix = `{budget:${name}}`;
    this.#allowance = allowance;
  }

  async acquire({ id, purpose, guildId }: Caller): Promise<number> {
    const { slots, windowMs } = this.#allowance;
    const reserve = reserveOf(this.#allowance, purpose);
    const values = [id, PURPOSES.indexOf(purpose), guildId, slots, reserve, leaseOf(this.#allowance)];
    const limits = [windowMs, MAX_WAIT_MS, assuredOf(this.#allowance), CALLING_MS];
    return Number(await ACQUIRE.run(this.#redis, this.#keysOf(guildId), [...values, ...limits]));
  }

  async release({ id, guildId }: CallerName): Promise<void> {
    await RELEASE.run(this.#redis, this.#keysOf(guildId), [id, releaseDelayOf(this.#allowance)]);
  }

  /** These Redis keys must not be renamed, so that processes of two versions share the budget during an update. */
  #keysOf(guildId: string): string[] {
    const names = ['places', 'waiting', 'seen', 'turns', `places:${guildId}`, 'guilds'];
    return names.map((name) => `${this.#prefix}:${name}`);
  }
}
