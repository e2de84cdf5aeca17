import type { Clock } from '#kit/clock.ts';
import { currentPurpose, type Purpose } from '#kit/context.ts';
import { dropOldest } from '#kit/resilience/bounded.ts';

export interface BatchCacheOptions<Value> {
  ttlMs: number;
  /** The most entries; the oldest goes first. */
  max: number;
  /** The most keys of one load. */
  batch: number;
  clock: Clock;
  /** Gives a value for each of the keys. */
  load: (keys: readonly number[]) => Promise<ReadonlyMap<number, Value>>;
  /** Whether a value is remembered. */
  remember: (value: Value) => boolean;
}

/**
 * Remembers what it loads, many keys at a time. A key that is being loaded is not loaded again for another caller,
 * unless for another purpose: a request does not wait for the turn of a job.
 */
export class BatchCache<Value> {
  readonly #options: BatchCacheOptions<Value>;
  readonly #entries = new Map<number, { value: Value; expiresAt: number }>();
  readonly #loading: Record<Purpose, Map<number, Promise<ReadonlyMap<number, Value>>>> = {
    caller: new Map(),
    background: new Map(),
    job: new Map(),
  };

  constructor(options: BatchCacheOptions<Value>) {
    this.#options = options;
  }

  async get(keys: readonly number[]): Promise<Map<number, Value>> {
    const now = this.#options.clock.now();
    const values = new Map<number, Value>();
    const missing = new Set<number>();
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry && entry.expiresAt > now) values.set(key, entry.value);
      else missing.add(key);
    }
    const loading = this.#loading[currentPurpose()];
    this.#loadAll([...missing].filter((key) => !loading.has(key)));
    const loads = [...missing].map(async (key) => {
      const loaded = await loading.get(key);
      if (loaded?.has(key)) values.set(key, loaded.get(key) as Value);
    });
    await Promise.all(loads);
    return values;
  }

  #loadAll(keys: readonly number[]): void {
    const loading = this.#loading[currentPurpose()];
    for (const batch of inBatches(keys, this.#options.batch)) {
      const load = this.#load(batch).finally(() => {
        for (const key of batch) loading.delete(key);
      });
      for (const key of batch) loading.set(key, load);
    }
  }

  async #load(keys: readonly number[]): Promise<ReadonlyMap<number, Value>> {
    const { load, remember, clock, ttlMs, max } = this.#options;
    const values = await load(keys);
    const expiresAt = clock.now() + ttlMs;
    for (const [key, value] of values) {
      this.#entries.delete(key);
      if (remember(value)) this.#entries.set(key, { value, expiresAt });
    }
    dropOldest(this.#entries, max);
    return values;
  }
}

/** The list in pieces of at most `size`. */
export function inBatches<Item>(items: readonly Item[], size: number): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}
