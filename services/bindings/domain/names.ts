import { LRUCache } from 'lru-cache';
import type { Clock } from '#kit/clock.ts';
import { within } from '#kit/resilience/deadline.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import { TaskLimit } from './task-limit.ts';

const MAX_CONCURRENT = 10;
/** The maximum time in milliseconds that a caller waits for names from a platform. */
const MAX_WAIT_MS = 1_500;
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
 * without a long wait; names that were never loaded are left out.
 */
export class NameCache<Key extends string | number, Value> {
  readonly #options: NameCacheOptions<Key, Value>;
  readonly #entries = new LRUCache<Key, Entry<Value>>(maxEntries(MAX_ENTRIES));
  readonly #limit: TaskLimit;
  #slowUntil = 0;

  constructor(options: NameCacheOptions<Key, Value>) {
    const { maxConcurrent = MAX_CONCURRENT, clock } = options;
    this.#options = options;
    this.#limit = new TaskLimit({ maxRunning: maxConcurrent, maxRunMs: SLOW_MS, clock });
  }

  /** Returns the names of roles or groups for those keys whose names are known. Never fails. */
  async of(keys: Iterable<Key>): Promise<Map<Key, Value>> {
    const unique = [...new Set(keys)];
    const now = this.#options.clock.now();
    const due = unique.filter((key) => (this.#entries.get(key)?.nextLoadAt ?? 0) <= now);
    if (due.length > 0) await this.#loadAll(due);
    return new Map(
      unique.flatMap((key): [Key, Value][] => {
        const loaded = this.#entries.get(key)?.loaded;
        return loaded ? [[key, loaded.value]] : [];
      }),
    );
  }

  /** Loads the names for these keys. While the platform is slow, the caller does not wait for the loads. */
  async #loadAll(keys: readonly Key[]): Promise<void> {
    const { clock, maxWaitMs = MAX_WAIT_MS } = this.#options;
    const isSlow = clock.now() < this.#slowUntil;
    const tooLate = new AbortController();
    const pending = new Set<Key>();
    const load = (key: Key) => {
      pending.add(key);
      return this.#load(key).then(() => pending.delete(key));
    };
    const task = (key: Key) => this.#limit.run(() => load(key), tooLate.signal);
    const loading = inParallel(keys, MAX_CONCURRENT, task, tooLate.signal);
    const waiting = within(maxWaitMs, loading).catch(() => {
      tooLate.abort();
      this.#slowUntil = clock.now() + SLOW_MS;
      for (const key of pending) {
        this.#entries.set(key, { loaded: this.#entries.get(key)?.loaded, nextLoadAt: clock.now() + SLOW_MS });
      }
    });
    if (!isSlow) await waiting;
  }

  async #load(key: Key): Promise<void> {
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
