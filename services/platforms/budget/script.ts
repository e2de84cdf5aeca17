import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisClient } from '#kit/redis/client.ts';

/** A Lua script in this folder, which Redis or Valkey runs as one atomic step. */
export class Script {
  readonly #text: string;
  readonly #sha: string;

  constructor(name: string) {
    this.#text = readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');
    this.#sha = createHash('sha1').update(this.#text).digest('hex');
  }

  async run(redis: RedisClient, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    try {
      return await redis.evalsha(this.#sha, keys.length, ...keys, ...values);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await redis.eval(this.#text, keys.length, ...keys, ...values);
    }
  }
}

/** Returns a name for a credential, to identify it in Redis keys without disclosing it. */
export function credentialName(credential: string): string {
  return createHash('sha256').update(credential).digest('hex').slice(0, 16);
}
