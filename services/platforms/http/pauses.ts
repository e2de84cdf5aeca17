import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';

/** The pause in seconds after a 429 that does not say how long to wait. */
const DEFAULT_PAUSE_SECONDS = 1;
const MAX_PAUSE_SECONDS = 3600;
const WHOLE_HOST = '';

/** The headers and the parsed body of a 429 response. */
interface RateLimitResponse {
  headers: Headers;
  body: unknown;
}

/** Stores until when a host, or one of its rate limits, rejects calls because of a 429. */
export class RateLimitPauses {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the whole seconds until calls on this rate limit are allowed again; 0 if they are allowed now. */
  secondsLeft(limit: string): number {
    const until = Math.max(this.#until.get(WHOLE_HOST) ?? 0, this.#until.get(limit) ?? 0);
    return Math.max(0, Math.ceil((until - this.#clock.now()) / 1000));
  }

  /**
   * Records a 429 response to a call on a rate limit. Unless the response names that limit, the whole host is paused.
   */
  note(limit: string, response: RateLimitResponse): void {
    const now = this.#clock.now();
    for (const [name, until] of this.#until) if (until <= now) this.#until.delete(name);
    const { ms, isWholeHost } = readPause(response, now);
    this.#until.set(isWholeHost ? WHOLE_HOST : limit, now + ms);
  }
}

/**
 * Returns the length of the pause that a 429 requires, and whether the pause applies to the whole host. `now` is in
 * Unix milliseconds.
 */
export function readPause({ headers, body }: RateLimitResponse, now: number): { ms: number; isWholeHost: boolean } {
  return { ms: 1000 * pauseSeconds(headers, now), isWholeHost: !isOneLimit(headers, body) };
}

const scopeSchema = z.object({ global: z.boolean() });

/**
 * True if the 429 applies to one rate limit only. The chat platform says so in the body or in a header; the game
 * platform sends the reset time of the exhausted limit.
 */
function isOneLimit(headers: Headers, body: unknown): boolean {
  if (headers.get('x-ratelimit-global') === 'true') return false;
  const scope = scopeSchema.safeParse(body).data;
  return scope ? !scope.global : headers.has('x-ratelimit-reset');
}

/**
 * Returns the seconds to wait after a 429. Retry-After holds seconds or a date (RFC 9110, section 10.2.3). Open Cloud
 * sends the seconds in X-RateLimit-Reset instead.
 */
function pauseSeconds(headers: Headers, now: number): number {
  const given = headers.get('retry-after') ?? headers.get('x-ratelimit-reset') ?? '';
  const seconds = /^[0-9]+(?:\.[0-9]+)?$/.test(given) ? Number(given) : (Date.parse(given) - now) / 1000;
  return Math.min(Math.max(Number.isNaN(seconds) ? DEFAULT_PAUSE_SECONDS : seconds, 0), MAX_PAUSE_SECONDS);
}
