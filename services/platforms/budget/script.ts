import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathOf } from '#kit/files.ts';
import type { RedisClient } from '#kit/redis/client.ts';
import { recordedSpan } from '#kit/telemetry/tracing/current-span.ts';
import type { SpanDescription } from '#kit/telemetry/tracing/span.ts';

/** A Lua script in this folder, which Redis or Valkey runs as one atomic step. */
export class Script {
  readonly #text: string;
  readonly #sha: string;
  readonly #description: SpanDescription;

  constructor(name: string) {
    this.#text = readFileSync(pathOf(`services/platforms/budget/${name}.lua`), 'utf8');
    this.#sha = createHash('sha1').update(this.#text).digest('hex');
    const attributes = { 'db.system.name': 'redis', 'db.operation.name': 'EVALSHA' };
    this.#description = { name: `EVALSHA ${name}`, attributes };
  }

  run(redis: RedisClient, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    const work = () => this.#run(redis, keys, values);
    return recordedSpan()?.call(this.#description, work) ?? work();
  }

  async #run(redis: RedisClient, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
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
