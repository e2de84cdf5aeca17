import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long what a response reported is worth being shared later, in milliseconds: as long as invalid requests count. */
const MAX_AGE_MS = 600_000;
const RETRY_MS = 250;
const MAX_PAUSES = 1_000;

/** The state of a rate limit as the platform reports it in a response. */
export interface RateLimitBucket {
  limit: number;
  remaining: number;
  /** Milliseconds until the platform resets `remaining` to `limit`. */
  resetMs: number;
}

/** The parts of a platform's response that limit later calls. */
export interface ResponseLimits {
  bucket?: RateLimitBucket | undefined;
  /** How long calls have to pause after a 429, to the whole host or on one rate limit. */
  pause?: { ms: number; isWholeHost: boolean } | undefined;
  /** True if the platform counts the request as invalid. */
  isInvalid: boolean;
}

/** What the processes share of one or several responses. */
export interface Note {
  limit: string;
  bucket?: RateLimitBucket | undefined;
  pause?: ResponseLimits['pause'];
  /** The number of responses that the platform counts as invalid requests. */
  invalid: number;
}

/**
 * Stores pauses and invalid requests that could not be shared in Redis, and shares them as soon as it is available again.
 * Otherwise each process could make all invalid requests again after an outage of Redis. Redis may have carried out a
 * command without a response in time; its invalid requests then count twice.
 */
export class UnstoredNotes {
  readonly #store: (note: Note) => Promise<boolean>;
  /** By rate limit, and empty for the whole host: until when calls pause, by performance.now(). */
  readonly #pauses = new Map<string, number>();
  #invalid = 0;
  #isRetrying = false;
  #until = 0;

  /** `store` shares a note, and returns false if Redis is unavailable. */
  constructor(store: (note: Note) => Promise<boolean>) {
    this.#store = store;
  }

  add({ limit, pause, invalid }: Note): void {
    const now = performance.now();
    this.#invalid += invalid;
    const name = pause?.isWholeHost ? '' : limit;
    if (pause && (this.#pauses.has(name) || this.#pauses.size < MAX_PAUSES))
      this.#pauses.set(name, Math.max(this.#pauses.get(name) ?? 0, now + pause.ms));
    this.#until = now + MAX_AGE_MS;
    if (!this.#isRetrying) void this.#retry();
  }

  async #retry(): Promise<void> {
    this.#isRetrying = true;
    while (performance.now() < this.#until && (this.#invalid > 0 || this.#pauses.size > 0)) {
      await sleep(RETRY_MS, undefined, { ref: false });
      await this.#storeAll();
    }
    this.#isRetrying = false;
  }

  async #storeAll(): Promise<void> {
    const invalid = this.#invalid;
    if (invalid > 0 && (await this.#store({ limit: '', invalid }))) this.#invalid -= invalid;
    for (const [limit, until] of this.#pauses) {
      const ms = until - performance.now();
      const isStored = ms <= 0 || (await this.#store({ limit, pause: { ms, isWholeHost: limit === '' }, invalid: 0 }));
      if (!isStored) return;
      if (this.#pauses.get(limit) === until) this.#pauses.delete(limit);
    }
  }
}
