import type { Clock } from '../clock.ts';
import { currentPurpose } from '../context.ts';
import { dropOldest } from './bounded.ts';

export interface LoadingCacheOptions<Value> {
  ttlMs: number;
  /** The most entries; the least recently used goes first. */
  max: number;
  clock: Clock;
  load: (key: string) => Promise<Value>;
  /** Whether a value is remembered; every one when left out. */
  remember?: (value: Value) => boolean;
}

/**
 * Remembers what it loads; concurrent loads of one key for one purpose are one, so that a request does not wait for the
 * turn of a job. Failures are not remembered.
 */
export class LoadingCache<Value> {
  readonly #options: LoadingCacheOptions<Value>;
  readonly #entries = new Map<string, { value: Value; expiresAt: number }>();
  readonly #loading = new Map<string, Promise<Value>>();

  constructor(options: LoadingCacheOptions<Value>) {
    this.#options = options;
  }

  async get(key: string): Promise<Value> {
    const entry = this.#entries.get(key);
    if (entry && entry.expiresAt > this.#options.clock.now()) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
      return entry.value;
    }
    return this.reload(key);
  }

  /** Loads anew what may be remembered already. */
  reload(key: string): Promise<Value> {
    const name = `${currentPurpose()} ${key}`;
    let loading = this.#loading.get(name);
    if (!loading) {
      loading = this.#load(key).finally(() => this.#loading.delete(name));
      this.#loading.set(name, loading);
    }
    return loading;
  }

  async #load(key: string): Promise<Value> {
    const value = await this.#options.load(key);
    this.#entries.delete(key);
    if (this.#options.remember?.(value) === false) return value;
    this.#entries.set(key, { value, expiresAt: this.#options.clock.now() + this.#options.ttlMs });
    dropOldest(this.#entries, this.#options.max);
    return value;
  }
}
