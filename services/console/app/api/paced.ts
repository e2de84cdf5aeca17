import { ApiError, isAbort } from './errors.ts';

/** What is left of the rate limit for others: the person's own clicks, and other tabs. */
const RESERVE = 10;
/** How long to wait after a rejection that does not say it. */
const UNKNOWN_WAIT_MS = 15_000;
const MAX_WAIT_MS = 60_000;

export interface PacedOptions<Row> {
  rows: readonly Row[];
  /** Does one row. It passes the headers of its response on. */
  work: (row: Row, onHeaders: (headers: Headers) => void) => Promise<unknown>;
  /** The error is undefined if the row succeeded. */
  onDone: (row: Row, error: ApiError | undefined) => void;
  /** Called with the milliseconds of each wait for the rate limit. */
  onWait?: (ms: number) => void;
  signal: AbortSignal;
  /** For tests. */
  clock?: { now: () => number; sleep: (ms: number, signal: AbortSignal) => Promise<void> };
}

/**
 * Does many rows one after another, no faster than the rate limit allows: it follows the limit's headers, leaves a
 * reserve for other work, and repeats rows that the limit rejected. Rows that fail otherwise do not stop it.
 */
export async function runPaced<Row>(options: PacedOptions<Row>): Promise<void> {
  const { rows, work, onDone, onWait, signal, clock = CLOCK } = options;
  const limit = new LimitHeaders(clock.now);
  const pause = async (ms: number) => {
    onWait?.(ms);
    await clock.sleep(ms, signal);
  };
  for (const row of rows) {
    for (let isDone = false; !isDone && !signal.aborted; ) {
      const wait = limit.waitMs();
      if (wait > 0) await pause(wait);
      if (signal.aborted) return;
      try {
        await work(row, (headers) => limit.read(headers));
        isDone = true;
        onDone(row, undefined);
      } catch (error) {
        if (isAbort(error)) return;
        const failure = error instanceof ApiError ? error : new ApiError('INTERNAL', { message: String(error) });
        isDone = failure.code !== 'RATE_LIMITED';
        if (isDone) onDone(row, failure);
        else await pause(limit.waitMs() || UNKNOWN_WAIT_MS);
      }
    }
  }
}

/** The rate limit as the last response described it. */
class LimitHeaders {
  readonly #now: () => number;
  #remaining = Number.POSITIVE_INFINITY;
  #resetAt = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  read(headers: Headers): void {
    const remaining = headers.get('x-ratelimit-remaining');
    const reset = headers.get('x-ratelimit-reset');
    if (remaining === null || reset === null) return;
    this.#remaining = Number(remaining);
    // The clock of this computer may be wrong: the time that is left follows from the server's own clock.
    const serverNow = Date.parse(headers.get('date') ?? '') || this.#now();
    this.#resetAt = this.#now() + Number(reset) * 1_000 - serverNow;
  }

  /** Milliseconds until the next request may be sent. */
  waitMs(): number {
    if (this.#remaining > RESERVE) return 0;
    const left = this.#resetAt - this.#now();
    return left > 0 ? Math.min(left, MAX_WAIT_MS) : 0;
  }
}

const CLOCK = {
  now: () => Date.now(),
  sleep: (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    }),
};
