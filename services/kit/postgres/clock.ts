import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Queryable } from './pool.ts';

const SAMPLE_EVERY_MS = 30_000;
const RETRY_MS = 500;
/**
 * A query for the database's time that takes more milliseconds than this is ignored, because the error of its result
 * may be as large as its duration.
 */
const SLOW_MS = 200;

export interface DatabaseClockOptions {
  database: Pick<Queryable, 'query'>;
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
  readonly #database: Pick<Queryable, 'query'>;
  readonly #local: Clock;
  readonly #monotonicNow: () => number;
  /** The database's time in Unix milliseconds when the monotonic clock of this process showed 0. */
  #origin: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #stopped = new AbortController();

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

  /** Waits until the database responds: it may fail again right after its schema was read. */
  async start(): Promise<void> {
    while (this.#origin === undefined) {
      await this.#sample().catch(() => wait(RETRY_MS, undefined, { signal: this.#stopped.signal }));
    }
    // If a query for the database's time fails, the clock continues with the previous result.
    this.#timer = setInterval(() => void this.#sample().catch(() => undefined), SAMPLE_EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
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
