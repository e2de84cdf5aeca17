import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';

/** How long we keep quiet after a 429 that does not say how long, and at most. */
const QUIET_SECONDS = 1;
const MOST_QUIET_SECONDS = 3600;
const WHOLE_HOST = '';

/** Until when a host wants no calls: none at all, or none that count on one of its limits. */
export class Quiet {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whole seconds until calls on this limit are welcome again; 0 when they are. */
  secondsLeft(limit: string): number {
    const until = Math.max(this.#until.get(WHOLE_HOST) ?? 0, this.#until.get(limit) ?? 0);
    return Math.max(0, Math.ceil((until - this.#clock.now()) / 1000));
  }

  /** Takes note of a 429 to a call on a limit; one that names neither that limit nor the whole host means the host. */
  note(limit: string, { headers, body }: { headers: Headers; body: unknown }): void {
    const now = this.#clock.now();
    for (const [name, until] of this.#until) if (until <= now) this.#until.delete(name);
    const { ms, isWholeHost } = readPause({ headers, body }, now);
    this.#until.set(isWholeHost ? WHOLE_HOST : limit, now + ms);
  }
}

/** What a 429 says: for how long, and whether the whole host is meant. `now` in Unix milliseconds. */
export function readPause(
  { headers, body }: { headers: Headers; body: unknown },
  now: number,
): { ms: number; isWholeHost: boolean } {
  return { ms: 1000 * secondsAsked(headers, now), isWholeHost: !isOwn(headers, body) };
}

const toldInBody = z.object({ global: z.boolean() });

/** The chat platform says in its body, or in headers, whether all calls are meant; others tell of a limit's own end. */
function isOwn(headers: Headers, body: unknown): boolean {
  if (headers.get('x-ratelimit-global') === 'true') return false;
  const told = toldInBody.safeParse(body).data;
  return told ? !told.global : headers.has('x-ratelimit-reset');
}

/**
 * Retry-After holds seconds or a date (RFC 9110, section 10.2.3). Where it is absent, Open Cloud tells the seconds left
 * in X-RateLimit-Reset.
 */
function secondsAsked(headers: Headers, now: number): number {
  const given = headers.get('retry-after') ?? headers.get('x-ratelimit-reset') ?? '';
  const seconds = /^[0-9]+(?:\.[0-9]+)?$/.test(given) ? Number(given) : (Date.parse(given) - now) / 1000;
  return Math.min(Math.max(Number.isNaN(seconds) ? QUIET_SECONDS : seconds, 0), MOST_QUIET_SECONDS);
}
