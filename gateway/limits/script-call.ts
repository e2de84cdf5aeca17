import { Command } from 'ioredis';
import type { RedisClient } from '#kit/redis/client.ts';

/** Without what it keeps to itself, so that its promise can be made here. */
const PublicCommand = Command as unknown as new (
  ...parameters: ConstructorParameters<typeof Command>
) => Pick<Command, keyof Command>;

/**
 * A call of a script that answers with integers, and does not outlive its answer as ioredis's own do (decision 9). The
 * connection must have no commandTimeout, whose timer nothing here ends.
 */
export class ScriptCall extends PublicCommand {
  declare promise: Promise<number[]>;

  constructor(name: 'eval' | 'evalsha', words: (string | number)[]) {
    super(name, words, { replyEncoding: null });
  }

  /** Called by ioredis's constructor in place of its own. */
  initPromise(): void {
    this.stringifyArguments();
    const { promise, resolve, reject } = Promise.withResolvers<number[]>();
    Object.assign(this, { promise, resolve, reject });
  }

  /** The reply; rejects as any command of this connection does. */
  sendTo(redis: RedisClient): Promise<number[]> {
    redis.sendCommand(this as unknown as Command);
    return this.promise;
  }
}
