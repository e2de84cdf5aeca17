import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { ChatPlatformConfig } from '../config.ts';
import { type CallOptions, type PlatformAnswer, PlatformHost, type PlatformOptions } from '../http.ts';

/**
 * How long we keep still after our token was refused, and how long we do not try what was not permitted. The platform
 * bans an address that makes 10,000 refused calls (401, 403, 429) in ten minutes.
 */
const TOKEN_REFUSED_MS = 600_000;
const REFUSED_MS = 60_000;
const MOST_REFUSALS = 10_000;

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

export interface DiscordOptions extends PlatformOptions {
  config: ChatPlatformConfig;
  log: Logger;
}

export interface DiscordCall extends Omit<CallOptions, 'headers'> {
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
  #tokenRefusedUntil = 0;

  constructor({ config, log, ...options }: DiscordOptions) {
    this.host = new PlatformHost({ ...options, name: 'chat', platform: 'chat platform', url: config.CHAT_API_URL });
    this.#headers = {
      authorization: `Bot ${config.CHAT_BOT_TOKEN}`,
      // Who comes with another form may be turned away.
      'user-agent': `DiscordBot (${config.CHAT_BOT_URL}, ${packageJson.version})`,
    };
    this.#clock = options.clock;
    this.#log = log;
  }

  /** An answer of the platform, or the same refusal as a moment ago without asking again. */
  async call(path: string, { reason, refusedTogether, ...call }: DiscordCall): Promise<PlatformAnswer> {
    this.#keepStill();
    const refused = refusedTogether === undefined ? undefined : this.#refusals.get(refusedTogether);
    if (refused && this.#clock.now() < refused.until) return refused.answer;
    const headers = { ...this.#headers };
    if (reason !== undefined) headers['x-audit-log-reason'] = encodeURIComponent(reason);
    const answer = await this.host.call(path, { ...call, headers });
    if (answer.status === 401) throw this.#tokenRefused();
    if (refusedTogether !== undefined && isForbidden(answer)) this.#remember(refusedTogether, answer);
    return answer;
  }

  #remember(what: string, answer: PlatformAnswer): void {
    const now = this.#clock.now();
    if (this.#refusals.size >= MOST_REFUSALS) {
      for (const [name, { until }] of this.#refusals) if (until <= now) this.#refusals.delete(name);
    }
    if (this.#refusals.size < MOST_REFUSALS) this.#refusals.set(what, { answer, until: now + REFUSED_MS });
  }

  /** Nothing is called for ten minutes. */
  #tokenRefused(): ApiError {
    if (this.#clock.now() >= this.#tokenRefusedUntil) {
      this.#log.error('The chat platform refuses CHAT_BOT_TOKEN: set a valid one and restart');
      this.#tokenRefusedUntil = this.#clock.now() + TOKEN_REFUSED_MS;
    }
    return this.#refusal();
  }

  #keepStill(): void {
    if (this.#clock.now() < this.#tokenRefusedUntil) throw this.#refusal();
  }

  #refusal(): ApiError {
    const retryAfter = (this.#tokenRefusedUntil - this.#clock.now()) / 1000;
    return new ApiError('UNAVAILABLE', { message: 'The chat platform refuses the bot', retryAfter });
  }
}

/** The platform's own code of an error; undefined where it told none. */
export function codeOf({ body }: PlatformAnswer): number | undefined {
  return z.object({ code: z.number() }).safeParse(body).data?.code;
}

/** Whether the platform says that the bot may not, which stays so until somebody changes the guild. */
export function isForbidden(answer: PlatformAnswer): boolean {
  const code = codeOf(answer);
  return answer.status === 403 && (code === CODES.missingAccess || code === CODES.missingPermission);
}

/** Whether the bot is not in the guild, or may not look into it. */
export function isShutOut(answer: PlatformAnswer): boolean {
  const code = codeOf(answer);
  return (
    (answer.status === 403 && code === CODES.missingAccess) || (answer.status === 404 && code === CODES.unknownGuild)
  );
}
