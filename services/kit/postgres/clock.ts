import { performance } from 'node:perf_hooks';
import type { Clock } from '../clock.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Queryable } from './pool.ts';

const SAMPLE_EVERY_MS = 30_000;
/**
 * A query for the database's time that takes more milliseconds than this is ignored, because the error of its result
 * may be as large as its duration.
 */
const SLOW_MS = 200;

export interface DatabaseClockOptions {
  database: Queryable;
  local: Clock;
  monotonicNow?: () => number;
}

/**
 * The database's time, for times that people see, such as the end of a ban. Between queries the clock follows the
 * monotonic clock, so that changes of this process's system clock have no effect. Leases, locks and claims do not use
 * this clock: their statements compare with `clock_timestamp()`.
 */
export class DatabaseClock implements Clock, Part {
  readonly name = 'database clock';
  readonly #database: Queryable;
  readonly #local: Clock;
  readonly #monotonicNow: () => number;
  /** The database's time in Unix milliseconds when the monotonic clock of this process showed 0. */
  #origin: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /**
   * The clock `local` is used until the database was queried. `monotonicNow` returns milliseconds; tests replace it.
   */
  constructor({ database, local, monotonicNow = () => performance.now() }: DatabaseClockOptions) {
    this.#database = database;
    this.#local = local;
    this.#monotonicNow = monotonicNow;
  }

  now(): number {
    return this.#origin === undefined ? this.#local.now() : Math.round(this.#origin + this.#monotonicNow());
  }

  async start(): Promise<void> {
    await this.#sample();
    // If a query for the database's time fails, the clock continues with the previous result.
    this.#timer = setInterval(() => void this.#sample().catch(() => undefined), SAMPLE_EVERY_MS).unref();
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
