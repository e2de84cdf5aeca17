import type { Clock } from '#kit/clock.ts';
import { dropOldest } from '#kit/resilience/bounded.ts';
import { within } from '#kit/resilience/deadline.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import { Turns } from './turns.ts';

const AT_ONCE = 10;
/** Longer nobody waits for names. */
const WAIT_MS = 1_500;
/** So long what was too slow is not asked for again, and nobody waits for anything. */
const SLOW_MS = 10_000;
const MOST = 10_000;

export interface NamesOptions<Key, Value> {
  load: (key: Key) => Promise<Value>;
  /** How long an answer is good. */
  freshMs: number;
  clock: Clock;
  waitMs?: number;
  /** How many of all who ask together are asked for at once; 10 when left out. */
  atOnce?: number;
}

interface Entry<Value> {
  known: { value: Value } | undefined;
  /** When it may be asked for again. */
  askAt: number;
}

/**
 * What a platform calls things. When it is down or slow the last known answers serve, and nobody waits long: what has
 * never been known is left out.
 */
export class Names<Key, Value> {
  readonly #options: NamesOptions<Key, Value>;
  /** The one asked for longest ago first. */
  readonly #entries = new Map<Key, Entry<Value>>();
  readonly #turns: Turns;
  #slowUntil = 0;

  constructor(options: NamesOptions<Key, Value>) {
    this.#options = options;
    this.#turns = new Turns(options.atOnce ?? AT_ONCE, SLOW_MS, options.clock);
  }

  /** Those of the keys that are known. Never fails. */
  async of(keys: Iterable<Key>): Promise<Map<Key, Value>> {
    const unique = [...new Set(keys)];
    const now = this.#options.clock.now();
    const due = unique.filter((key) => (this.#entries.get(key)?.askAt ?? 0) <= now);
    if (due.length > 0) await this.#ask(due);
    return new Map(
      unique.flatMap((key): [Key, Value][] => {
        const known = this.#entries.get(key)?.known;
        return known ? [[key, known.value]] : [];
      }),
    );
  }

  /** While the platform is slow it is asked all the same, by a few at a time, but nobody waits for it. */
  async #ask(keys: readonly Key[]): Promise<void> {
    const { clock, waitMs = WAIT_MS } = this.#options;
    const isSlow = clock.now() < this.#slowUntil;
    const late = new AbortController();
    const pending = new Set<Key>();
    const load = (key: Key) => {
      pending.add(key);
      return this.#load(key).then(() => pending.delete(key));
    };
    const asking = inParallel(keys, AT_ONCE, (key) => this.#turns.run(() => load(key), late.signal), late.signal);
    const waiting = within(waitMs, asking).catch(() => {
      late.abort();
      this.#slowUntil = clock.now() + SLOW_MS;
      for (const key of pending) this.#note(key, this.#entries.get(key)?.known, clock.now() + SLOW_MS);
    });
    if (!isSlow) await waiting;
  }

  async #load(key: Key): Promise<void> {
    const { load, freshMs, clock } = this.#options;
    try {
      const value = await load(key);
      this.#note(key, { value }, clock.now() + freshMs);
    } catch {
      // The connector has told of it, and leaves a platform alone that keeps failing.
    }
  }

  #note(key: Key, known: Entry<Value>['known'], askAt: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { known, askAt });
    dropOldest(this.#entries, MOST);
  }
}
