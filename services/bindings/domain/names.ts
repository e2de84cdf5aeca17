import { LRUCache } from 'lru-cache';
import type { Clock } from '#kit/clock.ts';
import { within } from '#kit/resilience/deadline.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import { TaskLimit } from './task-limit.ts';

const MAX_CONCURRENT = 10;
/** The maximum time in milliseconds that a caller waits for names from a platform. A load that takes longer is slow. */
const MAX_WAIT_MS = 1_500;
/** The maximum number of callers whose loads go on after they have stopped waiting, because they had many. */
const MAX_BACKGROUND = 2;
/**
 * After a slow load, the milliseconds for which the same names are not loaded again and callers do not wait for any
 * load.
 */
const SLOW_MS = 10_000;
const MAX_ENTRIES = 10_000;

export interface NameCacheOptions<Key, Value> {
  load: (key: Key) => Promise<Value>;
  ttlMs: number;
  clock: Clock;
  maxWaitMs?: number;
  /** The maximum number of concurrent loads for all callers together; 10 if left out. */
  maxConcurrent?: number;
}

interface Entry<Value> {
  /** The name that was loaded last; undefined if no load has succeeded yet. */
  loaded: { value: Value } | undefined;
  /** When the name may be loaded again, in Unix milliseconds. */
  nextLoadAt: number;
}

/**
 * Caches names of roles or groups from a platform. While the platform is down or slow, callers get the last known names
 * without a long wait; names that were never loaded are left out. The platform counts as slow if a single load was slow,
 * and not if a caller has more names than can be loaded in time: the rest of them is loaded in the background.
 */
export class NameCache<Key extends string | number, Value> {
  readonly #options: NameCacheOptions<Key, Value>;
  readonly #entries = new LRUCache<Key, Entry<Value>>(maxEntries(MAX_ENTRIES));
  readonly #limit: TaskLimit;
  /** The loads that are running, which callers share. */
  readonly #running = new Map<Key, Promise<void>>();
  /** Aborts the loads of each caller that has stopped waiting for them. */
  readonly #background = new Set<AbortController>();
  #slowUntil = 0;

  constructor(options: NameCacheOptions<Key, Value>) {
    const { maxConcurrent = MAX_CONCURRENT, clock } = options;
    this.#options = options;
    this.#limit = new TaskLimit({ maxRunning: maxConcurrent, maxRunMs: SLOW_MS, clock });
  }

  /** Returns the names of roles or groups for those keys whose names are known. Never fails. */
  async of(keys: Iterable<Key>): Promise<Map<Key, Value>> {
    const unique = [...new Set(keys)];
    const due = unique.filter((key) => this.#isDue(key));
    if (due.length > 0) await this.#loadAll(due);
    return new Map(
      unique.flatMap((key): [Key, Value][] => {
        const loaded = this.#entries.get(key)?.loaded;
        return loaded ? [[key, loaded.value]] : [];
      }),
    );
  }

  #isDue(key: Key): boolean {
    return (this.#entries.get(key)?.nextLoadAt ?? 0) <= this.#options.clock.now();
  }

  get #isSlow(): boolean {
    return this.#options.clock.now() < this.#slowUntil;
  }

  /** Loads the names for these keys. While the platform is slow, the caller does not wait for the loads. */
  async #loadAll(keys: readonly Key[]): Promise<void> {
    const { maxWaitMs = MAX_WAIT_MS, maxConcurrent = MAX_CONCURRENT } = this.#options;
    const wasSlow = this.#isSlow;
    const stop = new AbortController();
    const loading = inParallel(keys, maxConcurrent, (key) => this.#loadOnce(key, stop.signal), stop.signal);
    const waiting = within(maxWaitMs, loading).catch(() => {
      if (this.#isSlow || this.#background.size >= MAX_BACKGROUND) return stop.abort();
      this.#background.add(stop);
      void loading.finally(() => this.#background.delete(stop));
    });
    if (!wasSlow) await waiting;
  }

  /** Loads a name when the limit allows it, or waits for the load of another caller. */
  async #loadOnce(key: Key, signal: AbortSignal): Promise<void> {
    const load = async () => {
      if (!this.#running.has(key) && this.#isDue(key)) await this.#load(key);
    };
    if (!this.#running.has(key)) await this.#limit.run(load, signal);
    await this.#running.get(key);
  }

  #load(key: Key): Promise<void> {
    const running = this.#loadAndStore(key);
    this.#running.set(key, running);
    const forget = () => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
    void running.then(forget);
    void within(this.#options.maxWaitMs ?? MAX_WAIT_MS, running).catch(() => {
      forget();
      this.#handleSlow(key);
    });
    return running;
  }

  /**
   * Called when a load takes too long. Its result is still cached when it arrives, but others may load the name again
   * later, because the platform may never respond.
   */
  #handleSlow(key: Key): void {
    this.#slowUntil = this.#options.clock.now() + SLOW_MS;
    this.#entries.set(key, { loaded: this.#entries.get(key)?.loaded, nextLoadAt: this.#slowUntil });
    for (const stop of this.#background) stop.abort();
    this.#background.clear();
  }

  async #loadAndStore(key: Key): Promise<void> {
    const { load, ttlMs, clock } = this.#options;
    try {
      const value = await load(key);
      this.#entries.set(key, { loaded: { value }, nextLoadAt: clock.now() + ttlMs });
    } catch {
      // The platform's connector has counted the failure, and its circuit breaker stops calls to a platform that keeps
      // failing.
    }
  }
}
