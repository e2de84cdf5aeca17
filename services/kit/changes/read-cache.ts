import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { maxEntries } from '../resilience/max-entries.ts';

/**
 * The maximum number of changed scopes that the cache remembers, to limit its memory. A change in one more scope invalidates
 * the whole cache.
 */
const MAX_GENERATIONS = 10_000;

/** The state of the cache when a read of the database began: its generation, and the time in Unix milliseconds. */
export interface PendingRead {
  generation: number;
  startedAt: number;
}

interface Entry<Value> {
  value: Value;
  generation: number;
  expiresAt: number;
}

export interface ReadCacheOptions {
  clock: Clock;
  ttlMs: number;
  /** The maximum number of cached values. If the cache is full, the least recently used value is evicted. */
  max: number;
}

/**
 * Caches values that were read from the database, by a key. Each value belongs to a scope, such as a guild. A change in a
 * scope starts a new generation of this scope. Cached values of an older generation are invalid, and so are the results of
 * reads that began before the change.
 */
export class ReadCache<Value> {
  readonly #options: ReadCacheOptions;
  readonly #entries: LRUCache<string, Entry<Value>>;
  readonly #generations = new Map<string, number>();
  /** The generation of all scopes that have not changed since the whole cache was invalidated. */
  #baseGeneration = 0;
  #latestGeneration = 0;

  constructor(options: ReadCacheOptions) {
    this.#options = options;
    this.#entries = new LRUCache(maxEntries(options.max));
  }

  find(scope: string, key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    const isValid = entry.generation >= this.#generationOf(scope) && entry.expiresAt > this.#options.clock.now();
    if (isValid) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** Records the state of the cache for a read. Must be called before the query is sent to the database. */
  beginRead(): PendingRead {
    return { generation: this.#latestGeneration, startedAt: this.#options.clock.now() };
  }

  /** Caches a value that a read returned, unless its scope has changed since the read began. */
  store({ generation, startedAt }: PendingRead, scope: string, key: string, value: Value): void {
    const { ttlMs } = this.#options;
    if (ttlMs === 0 || generation < this.#generationOf(scope)) return;
    this.#entries.set(key, { value, generation, expiresAt: startedAt + ttlMs });
  }

  /** Invalidates the cached values of a scope. */
  invalidate(scope: string): void {
    if (this.#generations.size >= MAX_GENERATIONS) return this.invalidateAll();
    this.#generations.set(scope, ++this.#latestGeneration);
  }

  /** Invalidates the whole cache, for example because announced changes may have been missed. */
  invalidateAll(): void {
    this.#entries.clear();
    this.#generations.clear();
    this.#baseGeneration = ++this.#latestGeneration;
  }

  #generationOf(scope: string): number {
    return this.#generations.get(scope) ?? this.#baseGeneration;
  }
}
