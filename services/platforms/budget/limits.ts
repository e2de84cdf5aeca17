import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kit/errors.ts';
import type { RedisClient } from '#kit/redis/client.ts';
import { InvalidRequests } from './invalid-requests.ts';
import { credentialName, Script } from './script.ts';
import type { SharedRedis } from './shared-redis.ts';
import { type Note, type ResponseLimits, UnstoredNotes } from './unstored-notes.ts';

const ADMIT = new Script('admit');
const NOTE = new Script('note');
/**
 * The assumed length, in milliseconds, of a rate limit window that follows an ended one, until a response reports its
 * end.
 */
export const ASSUMED_WINDOW_MS = 5_000;
/** Two responses whose rate limit windows end within this many milliseconds of each other are about the same window. */
export const SAME_WINDOW_MS = 250;

/**
 * How long the permission to send a request is valid, in milliseconds from the moment when it was requested: a process that
 * stalls before it sends must ask again, because another process may have got a 429 meanwhile.
 */
const PERMISSION_MS = 50;
/**
 * How long a call repeats its request for a permission that is still valid, in milliseconds. With a slow Redis none would
 * ever be; then the last one counts.
 */
const MAX_PERMISSION_WAIT_MS = 1_000;

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
  /** What could not be shared yet. */
  readonly #unstored = new UnstoredNotes((note) => this.#store(note));
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
    this.#requireOwnValid();
    for (;;) {
      const decision = await this.#decide(limit, { isLast: false });
      if (decision === undefined) return;
      const { what, ms } = decision;
      if (what === 'call') return;
      if (what === 'pause' || performance.now() + ms > until) throw this.#limitedError(ms);
      await sleep(ms);
    }
  }

  /**
   * Takes the permission to send a request, immediately before it is sent: the call may have waited since `admit`. Throws
   * UNAVAILABLE during a pause that any process reported. While Redis is unavailable, the process decides alone.
   */
  async permit(limit: string): Promise<void> {
    const until = performance.now() + MAX_PERMISSION_WAIT_MS;
    for (let askedAt = performance.now(); ; askedAt = performance.now()) {
      this.#requireOwnValid();
      const decision = await this.#decide(limit, { isLast: true });
      if (decision === undefined) return;
      if (decision.what !== 'call') throw this.#limitedError(decision.ms);
      const now = performance.now();
      if (now - askedAt <= PERMISSION_MS || now > until) return;
    }
  }

  /** Shares the rate limits that a response reports with the other processes, without waiting for Redis. */
  note(limit: string, { bucket, pause, isInvalid }: ResponseLimits): void {
    if (isInvalid) this.#own.add();
    if (!bucket && !pause && !isInvalid) return;
    const note = { limit, bucket, pause, invalid: isInvalid ? 1 : 0 };
    void this.#storeOrKeep(note);
  }

  async #storeOrKeep(note: Note): Promise<void> {
    if (!(await this.#store(note))) this.#unstored.add(note);
  }

  /** Throws UNAVAILABLE if this process has made as many invalid requests as it may. */
  #requireOwnValid(): void {
    const { shared, maxInvalid = 0 } = this.#options;
    if (maxInvalid > 0 && this.#own.count() >= shared.shareOf(maxInvalid)) throw this.#limitedError(60_000);
  }

  /**
   * Returns the decision of all processes about a call; undefined if Redis is unavailable or too slow. The last decision
   * takes no place in the bucket, because an earlier one has.
   */
  async #decide(
    limit: string,
    { isLast }: { isLast: boolean },
  ): Promise<{ what: Decision[0]; ms: number } | undefined> {
    const { shared, maxInvalid = 0 } = this.#options;
    const values = [maxInvalid, ASSUMED_WINDOW_MS, isLast ? 0 : 1];
    const run = (redis: RedisClient) => this.#run(ADMIT, redis, limit, values);
    const decision = await (isLast ? shared.runPatiently(run) : shared.run(run));
    if (decision === undefined) return undefined;
    const [what, ms, invalid] = decision as Decision;
    this.#sharedInvalid = invalid;
    return { what, ms };
  }

  /** Returns false if Redis is unavailable or too slow. */
  async #store({ limit, bucket, pause, invalid }: Note): Promise<boolean> {
    const values = [
      Math.ceil(pause?.ms ?? 0),
      pause?.isWholeHost ? 1 : 0,
      invalid,
      bucket?.limit ?? '',
      bucket?.remaining ?? 0,
      Math.ceil(bucket?.resetMs ?? 0),
      SAME_WINDOW_MS,
    ];
    const run = (redis: RedisClient) => this.#run(NOTE, redis, limit, values);
    const { shared } = this.#options;
    return (await (pause ? shared.runPatiently(run) : shared.run(run))) !== undefined;
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
