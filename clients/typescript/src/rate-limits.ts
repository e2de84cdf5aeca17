import type { Operation } from './operation.ts';
import type { Runtime } from './runtime.ts';

const WINDOW_MS = 60_000;

/** Calls that waited for the same window start within this time, so that not all clients send at its first moment. */
const SPREAD_MS = 250;

/** The category of the limit that a key may have over all operations. */
const KEY_CATEGORY = 'api_key';

/** What is known about a limit. Windows begin with each minute of the server's clock. */
interface Window {
  requests: number;
  remaining: number;
  /** The end of the window by the local clock. */
  endsAt: number;
  /** True until a response has confirmed the numbers. */
  isEstimated: boolean;
}

function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  return text !== null && /^[0-9]+$/.test(text) ? Number(text) : undefined;
}

/**
 * Delays calls whose request would be rejected because of a rate limit. The limit of a category is known beforehand, and
 * the headers of each response correct the number of requests that remain: other clients use the same limits.
 */
export class RateLimits {
  readonly #windows = new Map<string, Window>();
  readonly #runtime: Runtime;
  /** How far the server's clock is ahead, in milliseconds. */
  #skewMs = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** The milliseconds until a request may be sent. If it is 0, the request is counted. */
  take({ limit }: Operation): number {
    const windows = [this.#current(KEY_CATEGORY), limit && this.#current(limit.category, limit.requests)];
    const known = windows.filter((window) => window !== undefined);
    const full = known.filter(({ remaining }) => remaining <= 0);
    if (full.length > 0) {
      const endsAt = Math.max(...full.map((window) => window.endsAt));
      return endsAt - this.#runtime.now() + this.#runtime.random() * SPREAD_MS;
    }
    for (const window of known) window.remaining--;
    return 0;
  }

  /** Reads the headers of a response. `category` is the one that a rejection names. */
  observe({ limit }: Operation, headers: Headers, category: string | undefined): void {
    const requests = numberIn(headers, 'x-ratelimit-limit');
    const remaining = numberIn(headers, 'x-ratelimit-remaining');
    const reset = numberIn(headers, 'x-ratelimit-reset');
    if (requests === undefined || remaining === undefined || reset === undefined) return;
    this.#readClock(headers);
    const endsAt = reset * 1_000 - this.#skewMs;
    if (endsAt <= this.#runtime.now()) return;
    // An operation without a category is only counted towards the limit of the key.
    const name = category ?? limit?.category ?? KEY_CATEGORY;
    const window = this.#windows.get(name);
    const isSame = window !== undefined && (window.isEstimated || Math.abs(window.endsAt - endsAt) < WINDOW_MS / 2);
    // Responses may arrive in another order than they were sent, and requests in flight are counted already.
    const left = isSame ? Math.min(window.remaining, remaining) : remaining;
    this.#windows.set(name, { requests, remaining: left, endsAt, isEstimated: false });
  }

  #readClock(headers: Headers): void {
    const date = Date.parse(headers.get('date') ?? '');
    // The header contains whole seconds, so that a difference of less than one second may be a rounding error.
    const skew = date - this.#runtime.now();
    if (Number.isFinite(skew)) this.#skewMs = Math.abs(skew) < 2_000 ? 0 : skew;
  }

  /** The window of now. `requests` is the limit if no response has told it; without it an unknown window is undefined. */
  #current(category: string, requests?: number): Window | undefined {
    const now = this.#runtime.now();
    const window = this.#windows.get(category);
    if (window && window.endsAt > now) return window;
    this.#windows.delete(category);
    if (requests === undefined) return undefined;
    const serverNow = now + this.#skewMs;
    const endsAt = (Math.floor(serverNow / WINDOW_MS) + 1) * WINDOW_MS - this.#skewMs;
    const count = window?.requests ?? requests;
    const next = { requests: count, remaining: count, endsAt, isEstimated: true };
    this.#windows.set(category, next);
    return next;
  }
}
