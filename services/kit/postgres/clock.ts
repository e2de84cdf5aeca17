import { performance } from 'node:perf_hooks';
import type { Clock } from '../clock.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Queryable } from './pool.ts';

const EVERY_MS = 30_000;
/** A sample that took longer, or waited for a connection, may be off by as much. */
const SLOW_MS = 200;

/**
 * The database's time for what people see, such as when a ban ends. Between samples it follows the monotonic clock, so
 * a step of this process's clock does not change it. Leases, locks and claims do not use it: their statements compare
 * with `clock_timestamp()`.
 */
export class DatabaseClock implements Clock, Part {
  readonly name = 'database clock';
  readonly #database: Queryable;
  readonly #local: Clock;
  readonly #monotonicNow: () => number;
  /** The database's time when the monotonic clock showed 0. */
  #origin: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `local` is used until the first sample; `monotonicNow` in milliseconds. */
  constructor(database: Queryable, local: Clock, monotonicNow = () => performance.now()) {
    this.#database = database;
    this.#local = local;
    this.#monotonicNow = monotonicNow;
  }

  now(): number {
    return this.#origin === undefined ? this.#local.now() : Math.round(this.#origin + this.#monotonicNow());
  }

  async start(): Promise<void> {
    await this.#sample();
    // After a sample that fails the monotonic clock goes on.
    this.#timer = setInterval(() => void this.#sample().catch(() => undefined), EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  async #sample(): Promise<void> {
    const before = this.#monotonicNow();
    const [row] = await this.#database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const after = this.#monotonicNow();
    const isSlow = after - before > SLOW_MS && this.#origin !== undefined;
    if (row && !isSlow) this.#origin = row.now.getTime() - (before + after) / 2;
  }
}
