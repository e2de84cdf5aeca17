import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Clock } from '#kit/clock.ts';
import { currentPurpose, type Purpose, requestContext } from '#kit/context.ts';
import type { Freshness } from '#kit/resilience/cache.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';

export interface BatchCacheOptions<Value> {
  ttlMs: number;
  /** The maximum number of cached entries; the least recently used entry is evicted first. */
  max: number;
  /** The maximum number of cache keys in one call of the loader. */
  batch: number;
  clock: Clock;
  /** Loads the values of several cache keys. */
  load: (keys: readonly number[]) => Promise<ReadonlyMap<number, Value>>;
  /** Returns true if a loaded value may be cached. */
  isCacheable: (value: Value) => boolean;
  /**
   * The minimum time in milliseconds from one load for background work to the next. Keys that are requested meanwhile are
   * loaded together. Without it each caller's keys are loaded at once.
   */
  gatherMs?: number;
}

/** A loaded value, and the time of performance.now() at which its load began. */
interface Loaded<Value> {
  value: Value;
  loadedAt: number;
}

type LoadedByKey<Value> = ReadonlyMap<number, Loaded<Value>>;

/** Keys that background callers request until the next load. */
interface Gathered<Value> {
  keys: number[];
  loaded: Promise<LoadedByKey<Value>>;
}

/**
 * Caches values that are loaded in batches. A key whose load is in flight is not loaded again for callers of the same
 * purpose. Different purposes load separately, so that a request never waits for a job's call, which has a lower
 * priority. Batches are not formed across callers, because each call to a platform has to count for its own guild and
 * purpose. Background work is the exception with `gatherMs`: hundreds of members who join in many guilds within a minute
 * would otherwise use up the platform's limit on calls with one user each. Such a load counts for no guild, so that a guild
 * that has used up its share of the limit does not delay others.
 */
export class BatchCache<Value> {
  readonly #options: BatchCacheOptions<Value>;
  readonly #entries: LRUCache<number, Loaded<Value> & { expiresAt: number }>;
  readonly #loading: Record<Purpose, Map<number, Promise<LoadedByKey<Value>>>> = {
    caller: new Map(),
    background: new Map(),
    job: new Map(),
  };

  #gathered: Gathered<Value> | undefined;
  /** The time of performance.now() from which background work may load again. */
  #nextLoadAt = 0;

  constructor(options: BatchCacheOptions<Value>) {
    this.#options = options;
    this.#entries = new LRUCache(maxEntries(options.max));
  }

  /** Returns the values of the keys; values that were loaded before `since` are loaded again. */
  async get(
    keys: readonly number[],
    { since = Number.NEGATIVE_INFINITY }: Freshness = {},
  ): Promise<Map<number, Value>> {
    const values = await this.#get(keys, since);
    // A load that was already in flight may have begun too early.
    const stale = [...values].filter(([, { loadedAt }]) => loadedAt < since).map(([key]) => key);
    for (const [key, loaded] of await this.#get(stale, since)) values.set(key, loaded);
    return new Map([...values].map(([key, { value }]) => [key, value]));
  }

  async #get(keys: readonly number[], since: number): Promise<Map<number, Loaded<Value>>> {
    const now = this.#options.clock.now();
    const values = new Map<number, Loaded<Value>>();
    const missing = new Set<number>();
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry && entry.expiresAt > now && entry.loadedAt >= since) values.set(key, entry);
      else missing.add(key);
    }
    const loading = this.#loading[currentPurpose()];
    this.#startLoads([...missing].filter((key) => !loading.has(key)));
    const loads = [...missing].map(async (key) => {
      const loaded = (await loading.get(key))?.get(key);
      if (loaded) values.set(key, loaded);
    });
    await Promise.all(loads);
    return values;
  }

  #startLoads(keys: readonly number[]): void {
    const loading = this.#loading[currentPurpose()];
    if (this.#options.gatherMs !== undefined && currentPurpose() === 'background') return this.#gather(keys);
    for (const batch of inBatches(keys, this.#options.batch)) {
      const load = this.#load(batch).finally(() => {
        for (const key of batch) loading.delete(key);
      });
      for (const key of batch) loading.set(key, load);
    }
  }

  #gather(keys: readonly number[]): void {
    if (keys.length === 0) return;
    this.#gathered ??= this.#startGathering();
    this.#gathered.keys.push(...keys);
    for (const key of keys) this.#loading.background.set(key, this.#gathered.loaded);
  }

  #startGathering(): Gathered<Value> {
    const keys: number[] = [];
    return { keys, loaded: this.#loadGathered(keys) };
  }

  async #loadGathered(keys: readonly number[]): Promise<LoadedByKey<Value>> {
    const { gatherMs = 0, batch } = this.#options;
    await delay(Math.max(0, this.#nextLoadAt - performance.now()));
    this.#gathered = undefined;
    this.#nextLoadAt = performance.now() + gatherMs;
    try {
      const loads = await forNoGuild(() => Promise.all(inBatches(keys, batch).map((part) => this.#load(part))));
      return new Map(loads.flatMap((loaded) => [...loaded]));
    } finally {
      for (const key of keys) this.#loading.background.delete(key);
    }
  }

  async #load(keys: readonly number[]): Promise<LoadedByKey<Value>> {
    const { load, isCacheable, clock, ttlMs } = this.#options;
    const loadedAt = performance.now();
    const values = await load(keys);
    const expiresAt = clock.now() + ttlMs;
    for (const [key, value] of values) {
      if (isCacheable(value)) this.#entries.set(key, { value, loadedAt, expiresAt });
      else this.#entries.delete(key);
    }
    return new Map([...values].map(([key, value]) => [key, { value, loadedAt }]));
  }
}

/** Runs work whose calls to a platform count for no guild. */
function forNoGuild<Result>(work: () => Result): Result {
  const context = requestContext.getStore();
  if (!context) return work();
  const { guildId: _guildId, ...others } = context;
  return requestContext.run(others, work);
}

/** Splits a list into batches of at most `size` items. */
export function inBatches<Item>(items: readonly Item[], size: number): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}
