import type { Breaker, Breakers } from '#kit/breaker.ts';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Metrics } from '#kit/metrics.ts';

const DEADLINE_MS = 5_000;
const MOST_BYTES = 1024 * 1024;
/** How long we keep quiet after a 429 that does not say how long, and at most. */
const QUIET_SECONDS = 1;
const MOST_QUIET_SECONDS = 3600;

export interface PlatformHostOptions {
  /** `game-users`: what metrics and breakers call it. */
  name: string;
  /** `game platform`: what callers are told. */
  platform: string;
  /** Without a trailing slash. */
  url: string;
  breakers: Breakers;
  metrics: Metrics;
  clock: Clock;
  /** From the call to the last byte of the answer. */
  deadlineMs?: number;
}

/** An answer that the platform thought about: 2xx, or a 4xx other than 429. */
export interface PlatformAnswer {
  status: number;
  /** Parsed JSON. */
  body: unknown;
}

/**
 * One host of a platform: each call has a deadline, follows no redirect and reads at most 1 MiB; a host that keeps
 * failing is left alone for a while, and so is one that answered 429, for as long as it asked.
 */
export class PlatformHost {
  readonly #options: PlatformHostOptions;
  readonly #breaker: Breaker;
  readonly #calls;
  readonly #seconds;
  #quietUntil = 0;

  constructor(options: PlatformHostOptions) {
    this.#options = options;
    this.#breaker = options.breakers.create(options.name, () => true);
    this.#calls = options.metrics.counter('platform_calls_total', 'Calls to a platform', ['host', 'outcome']);
    this.#seconds = options.metrics.duration('platform_call_duration_seconds', 'Time of a call', ['host']);
  }

  /** GET of a path. Errors: PLATFORM_ERROR, TIMEOUT, UNAVAILABLE. */
  async get(path: string): Promise<PlatformAnswer> {
    this.#keepQuiet();
    const response = await this.#breaker.run(() => this.#fetch(path));
    if (response.status !== 429) return response;
    this.#quietUntil = this.#options.clock.now() + 1000 * retryAfterSeconds(response.headers, this.#options.clock);
    throw this.#wantsNoCalls();
  }

  #keepQuiet(): void {
    if (this.#options.clock.now() >= this.#quietUntil) return;
    this.#calls.inc({ host: this.#options.name, outcome: 'held back' });
    throw this.#wantsNoCalls();
  }

  #wantsNoCalls(): ApiError {
    const { platform, clock } = this.#options;
    const retryAfter = Math.max(1, Math.ceil((this.#quietUntil - clock.now()) / 1000));
    return new ApiError('UNAVAILABLE', { message: `The ${platform} takes no more calls for now`, retryAfter });
  }

  async #fetch(path: string): Promise<PlatformAnswer & { headers: Headers }> {
    const { name, platform, url, deadlineMs = DEADLINE_MS } = this.#options;
    const signal = AbortSignal.timeout(deadlineMs);
    const elapsed = this.#seconds.startTimer({ host: name });
    let outcome = 'failed';
    try {
      const headers = { accept: 'application/json' };
      const response = await fetch(url + path, { headers, redirect: 'error', signal });
      outcome = String(response.status);
      return { status: response.status, headers: response.headers, body: await readAnswer(response) };
    } catch (cause) {
      if (!signal.aborted)
        throw new ApiError('PLATFORM_ERROR', { message: `The ${platform} gave no good answer`, cause });
      outcome = 'too slow';
      throw new ApiError('TIMEOUT', { message: `The ${platform} took too long`, cause });
    } finally {
      elapsed();
      this.#calls.inc({ host: name, outcome });
    }
  }
}

/** The JSON of an answer; nothing of a 429, whose body does not matter. */
async function readAnswer(response: Response): Promise<unknown> {
  if (response.status === 429 || response.status >= 500) await response.body?.cancel();
  if (response.status === 429) return undefined;
  if (response.status >= 500) throw new Error(`the platform answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new Error('the answer is larger than 1 MiB');
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** Retry-After holds seconds or a date (RFC 9110, section 10.2.3). */
function retryAfterSeconds(headers: Headers, clock: Clock): number {
  const given = headers.get('retry-after') ?? '';
  const seconds = /^[0-9]+(?:\.[0-9]+)?$/.test(given) ? Number(given) : (Date.parse(given) - clock.now()) / 1000;
  return Math.min(Math.max(Number.isNaN(seconds) ? QUIET_SECONDS : seconds, 0), MOST_QUIET_SECONDS);
}
