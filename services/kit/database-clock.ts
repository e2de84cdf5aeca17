import type { Clock } from './clock.ts';
import type { Part } from './lifecycle.ts';
import type { Queryable } from './postgres.ts';

const EVERY_MS = 30_000;
/** A sample that took longer, or waited for a connection, may be off by as much. */
const SLOW_MS = 200;

/** The database's time, which all replicas share, through an offset that is sampled every 30 s. */
export class DatabaseClock implements Clock, Part {
  readonly name = 'database clock';
  readonly #database: Queryable;
  readonly #local: Clock;
  #offset: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Queryable, local: Clock) {
    this.#database = database;
    this.#local = local;
  }

  now(): number {
    return this.#local.now() + (this.#offset ?? 0);
  }

  async start(): Promise<void> {
    await this.#sample();
    // A sample that fails leaves the offset as it was.
    this.#timer = setInterval(() => void this.#sample().catch(() => undefined), EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  async #sample(): Promise<void> {
    const before = this.#local.now();
    const [row] = await this.#database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const after = this.#local.now();
    const isSlow = after - before > SLOW_MS && this.#offset !== undefined;
    if (row && !isSlow) this.#offset = Math.round(row.now.getTime() - (before + after) / 2);
  }
}
