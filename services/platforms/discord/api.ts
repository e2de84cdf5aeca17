import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import type { Clock } from '#kit/clock.ts';
import { currentPurpose, type Purpose } from '#kit/context.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { CallBudget } from '../budget/budget.ts';
import { PlatformLimits } from '../budget/limits.ts';
import type { SharedRedis } from '../budget/shared-redis.ts';
import type { ChatPlatformConfig } from '../config.ts';
import {
  type CallOptions,
  type HostResponse,
  PlatformHost,
  type PlatformOptions,
  type PlatformResponse,
} from '../http/host.ts';
import { readPause } from '../http/pauses.ts';
import { Buckets, readBucket } from './buckets.ts';
import { isLastingRejection } from './errors.ts';
import { TokenGuard } from './token.ts';

/** A call that the chat platform did not permit is not made again for this many milliseconds. */
const REJECTION_TTL_MS = 60_000;
const MAX_CACHED_REJECTIONS = 10_000;
/** The maximum time that a call may wait for the rate limits, in milliseconds, by purpose. */
const MAX_WAIT_MS: Record<Purpose, number> = { caller: 5_000, background: 30_000, job: 30_000 };
/**
 * The maximum number of invalid requests in ten minutes. The platform bans an address at 10,000; calls stop before
 * that.
 */
const MAX_INVALID_REQUESTS = 9_000;
/**
 * The statuses that the platform counts as invalid requests, except a 429 of a rate limit that other users exhausted.
 */
const INVALID_STATUSES: ReadonlySet<number> = new Set([401, 403, 429]);

export interface DiscordOptions extends PlatformOptions {
  config: ChatPlatformConfig;
  log: Logger;
  /** Shares the call budget and the state of the rate limits among all processes. */
  shared: SharedRedis;
}

export interface DiscordCall extends Omit<CallOptions, 'headers'> {
  /** The guild that the call counts for, so that guilds take turns; empty for none. */
  guildId: string;
  /** The name of the platform's rate limit that the call counts towards. */
  limit: string;
  /**
   * A key that calls share if the platform rejects them for the same reason: after a lasting rejection, none of these
   * calls is made for a minute.
   */
  rejectionKey?: string;
  /** The reason that the chat platform shows in its audit log of the guild. */
  reason?: string;
}

/** Calls the chat platform with the bot token, within the platform's rate limits. */
export class DiscordApi {
  readonly host: PlatformHost;
  readonly #headers: Record<string, string>;
  readonly #clock: Clock;
  readonly #rejections = new LRUCache<string, { response: PlatformResponse; until: number }>(
    maxEntries(MAX_CACHED_REJECTIONS),
  );
  readonly #token: TokenGuard;
  readonly #buckets: Buckets;
  readonly #limits: PlatformLimits;
  readonly #budget: CallBudget;

  constructor({ config, log, shared, ...options }: DiscordOptions) {
    const platform = 'chat platform';
    const pace = {
      run: (_limit: string, call: () => Promise<HostResponse>) => call(),
      permit: (limit: string) => this.#limits.permit(limit),
      note: (limit: string, response: HostResponse) => this.#note(limit, response),
    };
    this.host = new PlatformHost({ ...options, name: 'chat', platform, url: config.CHAT_API_URL, pace });
    this.#headers = {
      authorization: `Bot ${config.CHAT_BOT_TOKEN}`,
      // The chat platform may block clients whose User-Agent has another form.
      'user-agent': `DiscordBot (${config.CHAT_BOT_URL}, ${packageJson.version})`,
    };
    this.#clock = options.clock;
    this.#token = new TokenGuard(options.clock, log);
    const { metrics } = options;
    const credential = config.CHAT_BOT_TOKEN;
    this.#buckets = new Buckets((granted) => shared.shareOf(granted));
    this.#limits = new PlatformLimits({ shared, platform, credential, maxInvalid: MAX_INVALID_REQUESTS });
    const allowance = { slots: config.CHAT_GLOBAL_RPS, windowMs: 1_000 };
    this.#budget = new CallBudget({ shared, platform: 'chat', credential, allowance, metrics });
    metrics.gauge(
      'chat_invalid_requests',
      `Requests that the chat platform rejected with 401, 403 or 429 in the last ten minutes; at ${MAX_INVALID_REQUESTS} we stop calling it`,
      [],
      (gauge) => gauge.set(this.#limits.invalidRequests),
    );
  }

  /** Makes a call and returns the platform's response; a lasting rejection may be up to a minute old. */
  async call(path: string, { reason, rejectionKey, guildId, ...call }: DiscordCall): Promise<PlatformResponse> {
    const until = performance.now() + MAX_WAIT_MS[currentPurpose()];
    await this.#token.requireAccepted(until);
    const rejection = rejectionKey === undefined ? undefined : this.#rejections.get(rejectionKey);
    if (rejection && this.#clock.now() < rejection.until) return rejection.response;
    const headers = { ...this.#headers };
    if (reason !== undefined) headers['x-audit-log-reason'] = encodeURIComponent(reason);
    const send = () => this.host.call(path, { ...call, headers });
    const response = await this.#withinLimits({ guildId, limit: call.limit, until }, send);
    if (rejectionKey !== undefined && isLastingRejection(response, call.method)) {
      this.#rejections.set(rejectionKey, { response, until: this.#clock.now() + REJECTION_TTL_MS });
    }
    return response;
  }

  /**
   * Waits for the bucket of the rate limit and then for the budget of all calls, before the call occupies a connection.
   */
  async #withinLimits(
    { guildId, limit, until }: { guildId: string; limit: string; until: number },
    call: () => Promise<HostResponse>,
  ): Promise<HostResponse> {
    this.host.requireNoPause(limit);
    await this.#buckets.acquire(limit, until);
    await this.#limits.admit(limit, until);
    return this.#budget.run(guildId, until - performance.now(), () => this.#token.run(until, call));
  }

  /** Stores the state of the rate limits that a response reports, including a 429. */
  #note(limit: string, response: HostResponse): void {
    const { status, headers } = response;
    const bucket = readBucket(headers);
    if (bucket) this.#buckets.note(limit, bucket);
    const isInvalid = INVALID_STATUSES.has(status) && headers.get('x-ratelimit-scope') !== 'shared';
    const pause = status === 429 ? readPause(response, this.#clock.now()) : undefined;
    this.#limits.note(limit, { bucket, pause, isInvalid });
  }
}
