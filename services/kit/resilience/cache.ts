import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { currentPurpose } from '../context.ts';
import { maxEntries } from './max-entries.ts';
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

/** How new a value must be. */
export interface Freshness {
  /**
   * The time of performance.now() at which the load of the value may have begun at the earliest; without it, the cache's
   * TTL alone decides.
   */
  since?: number | undefined;
}

/** A loaded value, and the time of performance.now() at which its load began. */
interface Loaded<Value> {
  value: Value;
  loadedAt: number;
}

/**
 * Caches loaded values for `ttlMs`. Concurrent loads of one key are shared, but only among callers with the same
 * purpose, so that a request never waits for a job's call, which has a lower priority. Errors are not cached.
 */
export class LoadingCache<Value> {
  readonly #options: LoadingCacheOptions<Value>;
  readonly #entries: LRUCache<string, Loaded<Value> & { expiresAt: number }>;
  readonly #loads = new SingleFlight<Loaded<Value>>();

  constructor(options: LoadingCacheOptions<Value>) {
    this.#options = options;
    this.#entries = new LRUCache(maxEntries(options.max));
  }

  async get(key: string, { since = Number.NEGATIVE_INFINITY }: Freshness = {}): Promise<Value> {
    const entry = this.#entries.get(key);
    if (entry && entry.expiresAt > this.#options.clock.now() && entry.loadedAt >= since) return entry.value;
    const loaded = await this.#reload(key);
    // A load that was already in flight may have begun too early.
    return loaded.loadedAt >= since ? loaded.value : this.reload(key);
  }

  /** Loads the value of a key again, even if it is cached. */
  async reload(key: string): Promise<Value> {
    return (await this.#reload(key)).value;
  }

  #reload(key: string): Promise<Loaded<Value>> {
    return this.#loads.run(`${currentPurpose()} ${key}`, () => this.#load(key));
  }

  async #load(key: string): Promise<Loaded<Value>> {
    const { load, isCacheable, clock, ttlMs } = this.#options;
    const loadedAt = performance.now();
    const value = await load(key);
    if (isCacheable?.(value) === false) this.#entries.delete(key);
    else this.#entries.set(key, { value, loadedAt, expiresAt: clock.now() + ttlMs });
    return { value, loadedAt };
  }
}
