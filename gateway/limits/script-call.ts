import { Command } from 'ioredis';
import type { RedisClient } from '#kit/redis.ts';

/** Without what it keeps to itself, so that its promise can be made here. */
const PublicCommand = Command as unknown as new (
  ...parameters: ConstructorParameters<typeof Command>
) => Pick<Command, keyof Command>;

/**
 * A call of a script that answers with integers. ioredis itself writes function literals to properties of each command.
 * V8 allocates such functions where only a full collection looks, so that every call outlived its answer with all that
 * it refers to: that was four fifths of what collections of young garbage found alive and copied (test/load/README.md).
 * A Cluster writes such literals itself. The connection must have no commandTimeout, whose timer nothing here ends.
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
