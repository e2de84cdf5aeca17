import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { currentPurpose } from '../context.ts';
import { SingleFlight } from './single-flight.ts';

export interface LoadingCacheOptions<Value> {
  ttlMs: number;
  /** The maximum number of cache entries; the least recently used entry is evicted first. */
  max: number;
  clock: Clock;
  load: (key: string) => Promise<Value>;
  /** Returns true if a loaded value may be cached; every value is cached if left out. */
  isCacheable?: (value: Value) => boolean;
}

/**
 * Caches loaded values for `ttlMs`. Concurrent loads of one key are shared, but only among callers with the same
 * purpose, so that a request never waits for a job's call, which has a lower priority. Errors are not cached.
 */
export class LoadingCache<Value> {
  readonly #options: LoadingCacheOptions<Value>;
  readonly #entries: LRUCache<string, { value: Value; expiresAt: number }>;
  readonly #loads = new SingleFlight<Value>();

  constructor(options: LoadingCacheOptions<Value>) {
    this.#options = options;
    this.#entries = new LRUCache({ max: options.max });
  }

  async get(key: string): Promise<Value> {
    const entry = this.#entries.get(key);
    return entry && entry.expiresAt > this.#options.clock.now() ? entry.value : this.reload(key);
  }

  /** Loads the value of a key again, even if it is cached. */
  reload(key: string): Promise<Value> {
    return this.#loads.run(`${currentPurpose()} ${key}`, () => this.#load(key));
  }

  async #load(key: string): Promise<Value> {
    const { load, isCacheable, clock, ttlMs } = this.#options;
    const value = await load(key);
    if (isCacheable?.(value) === false) this.#entries.delete(key);
    else this.#entries.set(key, { value, expiresAt: clock.now() + ttlMs });
    return value;
  }
}
