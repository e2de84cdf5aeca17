import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { currentPurpose, type Purpose } from '#kit/context.ts';
import { ApiError } from '#kit/errors.ts';
import { within } from '#kit/resilience/deadline.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { CallBudget } from '../budget/budget.ts';
import { PlatformLimits } from '../budget/limits.ts';
import type { SharedRedis } from '../budget/shared-redis.ts';
import type { ChatPlatformConfig } from '../config.ts';
import {
  type CallOptions,
  type HostAnswer,
  type PlatformAnswer,
  PlatformHost,
  type PlatformOptions,
} from '../http/host.ts';
import { readPause } from '../http/pauses.ts';
import { Buckets, readBucket } from './buckets.ts';

/**
 * How long we keep still after our token was refused, and how long we do not try what was not permitted. The platform
 * bans an address that makes 10,000 refused calls (401, 403, 429) in ten minutes.
 */
const TOKEN_REFUSED_MS = 600_000;
/** Meanwhile one call a minute tries whether the token is good again. */
const TRIAL_MS = 60_000;
const REFUSED_MS = 60_000;
const MOST_REFUSALS = 10_000;
/** How long a call may wait for its turn. */
const PATIENCE_MS: Record<Purpose, number> = { caller: 5_000, background: 30_000, job: 30_000 };
/** Well before the platform bans the address. */
const MAX_INVALID = 9_000;
/** What the platform counts as invalid, unless it says that others used up a limit that is shared. */
const INVALID: ReadonlySet<number> = new Set([401, 403, 429]);

/** Codes of the platform's errors. */
export const CODES = {
  unknownGuild: 10004,
  unknownMember: 10007,
  unknownRole: 10011,
  unknownUser: 10013,
  missingAccess: 50001,
  missingPermission: 50013,
  invalidRole: 50028,
};

/** Of refusals to tell something, those that are no passing fault. */
const LASTING_CODES: ReadonlySet<number | undefined> = new Set([CODES.missingAccess, CODES.missingPermission]);

export interface DiscordOptions extends PlatformOptions {
  config: ChatPlatformConfig;
  log: Logger;
  /** Shares the budget of calls, and what responses tell of rate limits, among all processes. */
  shared: SharedRedis;
}

export interface DiscordCall extends Omit<CallOptions, 'headers'> {
  /** Whose turn it takes; empty for nobody's. */
  guildId: string;
  /** Which rate limit the call counts on. */
  limit: string;
  /** What is refused together with it, when it is not permitted: tried again after a minute. */
  refusedTogether?: string;
  /** For the guild's audit log. */
  reason?: string;
}

/** Calls with our token. */
export class DiscordApi {
  readonly host: PlatformHost;
  readonly #headers: Record<string, string>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #refusals = new Map<string, { answer: PlatformAnswer; until: number }>();
  readonly #buckets: Buckets;
  readonly #limits: PlatformLimits;
  readonly #budget: CallBudget;
  #tokenRefusedUntil = 0;
  #nextTrialAt = 0;
  /** Settles with the call that tries the token; never rejects. */
  #trial: Promise<void> | undefined;

  constructor({ config, log, shared, ...options }: DiscordOptions) {
    const platform = 'chat platform';
    const pace = {
      run: (_limit: string, call: () => Promise<HostAnswer>) => call(),
      note: (limit: string, answer: HostAnswer) => this.#note(limit, answer),
    };
    this.host = new PlatformHost({ ...options, name: 'chat', platform, url: config.CHAT_API_URL, pace });
    this.#headers = {
      authorization: `Bot ${config.CHAT_BOT_TOKEN}`,
      // Who comes with another form may be turned away.
      'user-agent': `DiscordBot (${config.CHAT_BOT_URL}, ${packageJson.version})`,
    };
    this.#clock = options.clock;
    this.#log = log;
    const { metrics } = options;
    const credential = config.CHAT_BOT_TOKEN;
    this.#buckets = new Buckets((granted) => shared.shareOf(granted));
    this.#limits = new PlatformLimits({ shared, platform, credential, maxInvalid: MAX_INVALID });
    const allowance = { places: config.CHAT_GLOBAL_RPS, windowMs: 1_000 };
    this.#budget = new CallBudget({ shared, platform: 'chat', credential, allowance, metrics });
    metrics.gauge(
      'chat_invalid_requests',
      `Calls of the last ten minutes that the chat platform rejected (401, 403, 429); at ${MAX_INVALID} no more are made`,
      [],
      (gauge) => gauge.set(this.#limits.invalidRequests),
    );
  }

  /** An answer of the platform, or the same refusal as a moment ago without asking again. */
  async call(path: string, { reason, refusedTogether, guildId, ...call }: DiscordCall): Promise<PlatformAnswer> {
    const until = performance.now() + PATIENCE_MS[currentPurpose()];
    while (this.#trial) await this.#endOf(this.#trial, until);
    if (this.#isStill) throw this.#refusal();
    const refused = refusedTogether === undefined ? undefined : this.#refusals.get(refusedTogether);
    if (refused && this.#clock.now() < refused.until) return refused.answer;
    const headers = { ...this.#headers };
    if (reason !== undefined) headers['x-audit-log-reason'] = encodeURIComponent(reason);
    const answer = await this.#inTurn(guildId, call.limit, until, () => this.host.call(path, { ...call, headers }));
    if (refusedTogether !== undefined && isLasting(answer, call.method)) this.#remember(refusedTogether, answer);
    return answer;
  }

  /** Waits for the guild's bucket and for our share of all calls, before it takes one of the host's connections. */
  async #inTurn(guildId: string, limit: string, until: number, call: () => Promise<HostAnswer>): Promise<HostAnswer> {
    this.host.keepQuiet(limit);
    await this.#buckets.take(limit, until);
    await this.#limits.admit(limit, until);
    return this.#budget.run(guildId, until - performance.now(), () =>
      this.#unlessStill(until, async () => {
        const answer = await call();
        if (answer.status === 401) throw this.#tokenRefused();
        this.#tokenAccepted();
        return answer;
      }),
    );
  }

  /** Of each response, also of a 429. */
  #note(limit: string, answer: HostAnswer): void {
    const { status, headers } = answer;
    const bucket = readBucket(headers);
    if (bucket) this.#buckets.note(limit, bucket);
    const isInvalid = INVALID.has(status) && headers.get('x-ratelimit-scope') !== 'shared';
    const pause = status === 429 ? readPause(answer, this.#clock.now()) : undefined;
    this.#limits.note(limit, { bucket, pause, isInvalid });
  }

  #remember(what: string, answer: PlatformAnswer): void {
    const now = this.#clock.now();
    if (this.#refusals.size >= MOST_REFUSALS) {
      for (const [name, { until }] of this.#refusals) if (until <= now) this.#refusals.delete(name);
    }
    if (this.#refusals.size < MOST_REFUSALS) this.#refusals.set(what, { answer, until: now + REFUSED_MS });
  }

  get #isTokenRefused(): boolean {
    return this.#clock.now() < this.#tokenRefusedUntil;
  }

  /** Nothing is called for ten minutes, but for one call a minute. */
  #tokenRefused(): ApiError {
    const now = this.#clock.now();
    if (!this.#isTokenRefused) {
      this.#log.error('The chat platform refuses CHAT_BOT_TOKEN: set a valid one and restart');
      this.#nextTrialAt = now + TRIAL_MS;
    }
    this.#tokenRefusedUntil = now + TOKEN_REFUSED_MS;
    return this.#refusal();
  }

  #tokenAccepted(): void {
    if (this.#isTokenRefused) this.#log.info('The chat platform takes CHAT_BOT_TOKEN again');
    this.#tokenRefusedUntil = 0;
  }

  get #isStill(): boolean {
    return this.#isTokenRefused && this.#clock.now() < this.#nextTrialAt;
  }

  /** While the token is refused, the first call of a minute goes through, and the others wait for what it learns. */
  async #unlessStill(until: number, call: () => Promise<HostAnswer>): Promise<HostAnswer> {
    while (this.#trial) await this.#endOf(this.#trial, until);
    if (!this.#isTokenRefused) return call();
    if (this.#isStill) throw this.#refusal();
    this.#nextTrialAt = this.#clock.now() + TRIAL_MS;
    const trial = call();
    const end = () => {
      this.#trial = undefined;
    };
    this.#trial = trial.then(end, end);
    return trial;
  }

  /** Waits for the trial that is under way; UNAVAILABLE when it takes until `until` (performance.now()). */
  #endOf(trial: Promise<void>, until: number): Promise<void> {
    return within(Math.max(0, until - performance.now()), trial).catch(() => {
      throw this.#refusal();
    });
  }

  /** Of a trial that is under way, the outcome is known soon. */
  #refusal(): ApiError {
    const retryAfter = this.#trial ? 1 : (this.#nextTrialAt - this.#clock.now()) / 1000;
    return new ApiError('UNAVAILABLE', { message: 'The chat platform refuses the bot', retryAfter });
  }
}

/** The platform's own code of an error; undefined where it told none. */
export function codeOf({ body }: PlatformAnswer): number | undefined {
  return z.object({ code: z.number() }).safeParse(body).data?.code;
}

/** Whether the platform says that the bot may not; it has many codes for why, and sometimes tells none. */
export const isForbidden = ({ status }: PlatformAnswer): boolean => status === 403;

/** Whether a refusal stays so until somebody changes the guild; a change that was refused may be, whatever its code. */
function isLasting(answer: PlatformAnswer, method = 'GET'): boolean {
  return isForbidden(answer) && (method !== 'GET' || LASTING_CODES.has(codeOf(answer)));
}

/** Whether the bot is not in the guild, or may not look into it. */
export function isShutOut(answer: PlatformAnswer): boolean {
  const code = codeOf(answer);
  return (
    (answer.status === 403 && code === CODES.missingAccess) || (answer.status === 404 && code === CODES.unknownGuild)
  );
}
