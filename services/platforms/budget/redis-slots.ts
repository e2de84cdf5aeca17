import { PURPOSES } from '#kit/context.ts';
import type { RedisClient } from '#kit/redis/client.ts';
import { Script } from './script.ts';
import { type Allowance, type Caller, leaseOf, MAX_WAIT_MS, reserveOf, type Turns, windowOf } from './slots.ts';

const TAKE = new Script('acquire');
const LEAVE = new Script('release');

/** Turns of all processes together, by Redis's own clock, in one step each. */
export class RedisTurns implements Turns {
  readonly #redis: RedisClient;
  readonly #keys: string[];
  readonly #allowance: Allowance;

  /** `name` tells budgets apart; it is no secret. */
  constructor(redis: RedisClient, name: string, allowance: Allowance) {
    this.#redis = redis;
    // In one slot of a Cluster.
    this.#keys = ['places', 'waiting', 'seen', 'turns'].map((key) => `{budget:${name}}:${key}`);
    this.#allowance = allowance;
  }

  async take({ id, purpose, guildId }: Caller): Promise<number> {
    const { places, windowMs } = this.#allowance;
    const reserve = reserveOf(this.#allowance, purpose);
    const values = [id, PURPOSES.indexOf(purpose), guildId, places, reserve, leaseOf(this.#allowance)];
    return Number(await TAKE.run(this.#redis, this.#keys, [...values, windowMs, MAX_WAIT_MS]));
  }

  async leave(id: string): Promise<void> {
    await LEAVE.run(this.#redis, this.#keys.slice(0, 3), [id, windowOf(this.#allowance)]);
  }
}
