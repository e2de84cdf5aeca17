import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisClient } from '#kit/redis.ts';
import { type Caller, LEASE_MS, reserveOf, type Turns, WINDOW_MS } from './turns.ts';

interface Script {
  text: string;
  sha: string;
}

const readScript = (name: string): Script => {
  const text = readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
};
const TAKE = readScript('take');
const LEAVE = readScript('leave');

/** Turns of all processes together, by Redis's own clock, in one step each. Redis 7 or Valkey, also as a Cluster. */
export class RedisTurns implements Turns {
  readonly #redis: RedisClient;
  readonly #keys: string[];
  readonly #places: number;

  /** `name` tells budgets apart; it is no secret. */
  constructor(redis: RedisClient, name: string, places: number) {
    this.#redis = redis;
    // In one slot of a Cluster.
    this.#keys = ['places', 'waiting', 'seen', 'turns'].map((key) => `{budget:${name}}:${key}`);
    this.#places = places;
  }

  /** Whether a call has a chance now. */
  get isConnected(): boolean {
    return this.#redis.status === 'ready';
  }

  async take({ id, isJob, guildId }: Caller): Promise<number> {
    const values = [id, isJob ? 1 : 0, guildId, this.#places, reserveOf(this.#places), LEASE_MS];
    return Number(await this.#run(TAKE, this.#keys, values));
  }

  async leave(id: string): Promise<void> {
    await this.#run(LEAVE, this.#keys.slice(0, 3), [id, WINDOW_MS]);
  }

  async #run({ text, sha }: Script, keys: string[], values: (string | number)[]): Promise<unknown> {
    try {
      return await this.#redis.evalsha(sha, keys.length, ...keys, ...values);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await this.#redis.eval(text, keys.length, ...keys, ...values);
    }
  }
}
