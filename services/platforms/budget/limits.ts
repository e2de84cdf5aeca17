import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kit/errors.ts';
import type { RedisClient } from '#kit/redis/client.ts';
import { InvalidRequests } from './invalid-requests.ts';
import { nameOf, Script } from './script.ts';
import type { SharedRedis } from './shared-redis.ts';

const ADMIT = new Script('admit');
const NOTE = new Script('note');
/** After a bucket is full again nothing is known until a response tells; not longer than a call may take. */
const UNTOLD_MS = 5_000;
/** Responses that tell of ends so near to one another tell of the same window. */
const SAME_MS = 250;

/** What a response tells of a rate limit. */
export interface ToldBucket {
  limit: number;
  remaining: number;
  /** Until it is full again. */
  resetMs: number;
}

/** What a response tells of calls to come. */
export interface Told {
  bucket?: ToldBucket | undefined;
  /** Of a 429: for how long, and whether all calls are meant or those of one rate limit. */
  pause?: { ms: number; isWholeHost: boolean } | undefined;
  /** Whether the platform counts the call as invalid. */
  isInvalid: boolean;
}

export interface PlatformLimitsOptions {
  shared: SharedRedis;
  /** `chat platform`: for messages. */
  platform: string;
  /** By whom the host knows us: whoever has the same shares what its responses told. */
  credential: string;
  /** From so many invalid requests in ten minutes on no call is made; left out, they are not counted. */
  maxInvalid?: number;
}

type Verdict = ['call' | 'pause' | 'wait', number, number];

/**
 * What a host's responses told all processes of its rate limits: buckets, pauses after a 429, and the count of invalid
 * requests. While Redis is away each process goes by what it was told itself, which its caller keeps.
 */
export class PlatformLimits {
  readonly #options: PlatformLimitsOptions;
  readonly #name: string;
  readonly #own = new InvalidRequests();
  #sharedInvalid = 0;

  constructor(options: PlatformLimitsOptions) {
    this.#options = options;
    this.#name = nameOf(options.credential);
  }

  /** Invalid requests of the last ten minutes, as far as this process knows. */
  get invalidRequests(): number {
    return Math.max(this.#own.count(), this.#options.shared.isDegraded ? 0 : this.#sharedInvalid);
  }

  /** Waits until the limit lets a call through; UNAVAILABLE when that is after `until` (performance.now()). */
  async admit(limit: string, until: number): Promise<void> {
    const { shared, maxInvalid = 0 } = this.#options;
    if (maxInvalid > 0 && this.#own.count() >= shared.shareOf(maxInvalid)) throw this.#refusal(60_000);
    for (;;) {
      const verdict = await shared.run((redis) => this.#run(ADMIT, redis, limit, [maxInvalid, UNTOLD_MS]));
      if (verdict === undefined) return;
      const [what, ms, invalid] = verdict as Verdict;
      this.#sharedInvalid = invalid;
      if (what === 'call') return;
      if (what === 'pause' || performance.now() + ms > until) throw this.#refusal(ms);
      await sleep(ms);
    }
  }

  /** Shares what a response told; nobody waits for it. */
  note(limit: string, { bucket, pause, isInvalid }: Told): void {
    if (isInvalid) this.#own.add();
    if (!bucket && !pause && !isInvalid) return;
    const told = [Math.ceil(pause?.ms ?? 0), pause?.isWholeHost ? 1 : 0, isInvalid ? 1 : 0];
    const values = [...told, bucket?.limit ?? '', bucket?.remaining ?? 0, Math.ceil(bucket?.resetMs ?? 0), SAME_MS];
    void this.#options.shared.run((redis) => this.#run(NOTE, redis, limit, values));
  }

  #run(script: Script, redis: RedisClient, limit: string, values: (string | number)[]): Promise<unknown> {
    // In one slot of a Cluster.
    const names = ['pause', `pause:${limit}`, `bucket:${limit}`, 'invalid'];
    const keys = names.map((name) => `{limits:${this.#name}}:${name}`);
    return script.run(redis, keys, values);
  }

  #refusal(ms: number): ApiError {
    const message = `The ${this.#options.platform} takes no more calls for now`;
    return new ApiError('UNAVAILABLE', { message, retryAfter: ms / 1000 });
  }
}
