import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kit/errors.ts';
import type { RedisClient } from '#kit/redis/client.ts';
import { InvalidRequests } from './invalid-requests.ts';
import { credentialName, Script } from './script.ts';
import type { SharedRedis } from './shared-redis.ts';

const ADMIT = new Script('admit');
const NOTE = new Script('note');
/**
 * The assumed length, in milliseconds, of a rate limit window that follows an ended one, until a response reports its
 * end.
 */
export const ASSUMED_WINDOW_MS = 5_000;
/** Two responses whose rate limit windows end within this many milliseconds of each other are about the same window. */
export const SAME_WINDOW_MS = 250;

/** The state of a rate limit as the platform reports it in a response. */
export interface RateLimitBucket {
  limit: number;
  remaining: number;
  /** Milliseconds until the platform resets `remaining` to `limit`. */
  resetMs: number;
}

/** The parts of a platform's response that limit later calls. */
export interface ResponseLimits {
  bucket?: RateLimitBucket | undefined;
  /** How long calls have to pause after a 429, to the whole host or on one rate limit. */
  pause?: { ms: number; isWholeHost: boolean } | undefined;
  /** True if the platform counts the request as invalid. */
  isInvalid: boolean;
}

export interface PlatformLimitsOptions {
  shared: SharedRedis;
  /** The name of the platform in error messages, for example `chat platform`. */
  platform: string;
  /**
   * Contains the bot token or API key. Processes with the same credential share the state of the platform's rate
   * limits.
   */
  credential: string;
  /** The number of invalid requests in ten minutes from which on no call is made; no limit if left out. */
  maxInvalid?: number;
}

type Decision = ['call' | 'pause' | 'wait', number, number];

/**
 * Stores the state of a host's rate limits, learned from the responses to all processes: buckets, pauses after a 429,
 * and the number of invalid requests. While Redis is unavailable `admit` checks only this process's invalid requests;
 * the clients keep their own buckets and pauses.
 */
export class PlatformLimits {
  readonly #options: PlatformLimitsOptions;
  readonly #name: string;
  readonly #own = new InvalidRequests();
  #sharedInvalid = 0;

  constructor(options: PlatformLimitsOptions) {
    this.#options = options;
    this.#name = credentialName(options.credential);
  }

  /** The number of invalid requests of the last ten minutes that this process knows of. */
  get invalidRequests(): number {
    return Math.max(this.#own.count(), this.#options.shared.isDegraded ? 0 : this.#sharedInvalid);
  }

  /**
   * Waits until the rate limit allows a call. Throws UNAVAILABLE if that would be after `until` (performance.now()).
   */
  async admit(limit: string, until: number): Promise<void> {
    const { shared, maxInvalid = 0 } = this.#options;
    if (maxInvalid > 0 && this.#own.count() >= shared.shareOf(maxInvalid)) throw this.#limitedError(60_000);
    for (;;) {
      const decision = await shared.run((redis) => this.#run(ADMIT, redis, limit, [maxInvalid, ASSUMED_WINDOW_MS]));
      if (decision === undefined) return;
      const [what, ms, invalid] = decision as Decision;
      this.#sharedInvalid = invalid;
      if (what === 'call') return;
      if (what === 'pause' || performance.now() + ms > until) throw this.#limitedError(ms);
      await sleep(ms);
    }
  }

  /**
   * Throws UNAVAILABLE during a pause that another process reported. Called immediately before a request is sent: the call
   * may have waited since `admit`.
   */
  async requireNoPause(limit: string): Promise<void> {
    const [host, one] = this.#keys(limit);
    const pauses = await this.#options.shared.run((redis) =>
      Promise.all([host, one].map((key) => redis.pttl(key as string))),
    );
    const ms = Math.max(0, ...(pauses ?? []));
    if (ms > 0) throw this.#limitedError(ms);
  }

  /** Shares the rate limits that a response reports with the other processes, without waiting for Redis. */
  note(limit: string, { bucket, pause, isInvalid }: ResponseLimits): void {
    if (isInvalid) this.#own.add();
    if (!bucket && !pause && !isInvalid) return;
    const flags = [Math.ceil(pause?.ms ?? 0), pause?.isWholeHost ? 1 : 0, isInvalid ? 1 : 0];
    const values = [
      ...flags,
      bucket?.limit ?? '',
      bucket?.remaining ?? 0,
      Math.ceil(bucket?.resetMs ?? 0),
      SAME_WINDOW_MS,
    ];
    void this.#options.shared.run((redis) => this.#run(NOTE, redis, limit, values));
  }

  #run(script: Script, redis: RedisClient, limit: string, values: (string | number)[]): Promise<unknown> {
    return script.run(redis, this.#keys(limit), values);
  }

  #keys(limit: string): string[] {
    // The braces put all Redis keys of a host into one slot of a Redis Cluster.
    const names = ['pause', `pause:${limit}`, `bucket:${limit}`, 'invalid'];
    return names.map((name) => `{limits:${this.#name}}:${name}`);
  }

  #limitedError(ms: number): ApiError {
    const message = `The ${this.#options.platform} limits our request rate, try again later`;
    return new ApiError('UNAVAILABLE', { message, retryAfter: ms / 1000 });
  }
}
