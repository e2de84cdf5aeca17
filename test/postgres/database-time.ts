import { distributionReader } from '#kit/postgres/citus/distribution.ts';
import { databaseRows } from './database.ts';

/**
 * Controls the clock of a test's database. Leases and locks are compared with `clock_timestamp()`: a test of an expired
 * lease moves this clock, not the clock of a process.
 */
export class DatabaseTime {
  readonly #url: string;
  /** The function is STABLE with Citus, which rejects an INSERT, UPDATE or DELETE that calls a VOLATILE one (deploy/citus/clock.ts). */
  readonly #volatility: 'STABLE' | 'VOLATILE';
  /** Milliseconds added to the real time, or to `#stoppedAt` while the clock is stopped. */
  #shift = 0;
  /** Unix milliseconds; undefined while the clock runs. */
  #stoppedAt: number | undefined;

  private constructor(url: string, volatility: 'STABLE' | 'VOLATILE') {
    this.#url = url;
    this.#volatility = volatility;
  }

  /** Connections that are opened afterwards use this clock, which runs like the real one until it is moved. */
  static async control(url: string): Promise<DatabaseTime> {
    const isDistributed = await distributionReader()({ query: (statement) => databaseRows(url, statement) });
    const time = new DatabaseTime(url, isDistributed ? 'STABLE' : 'VOLATILE');
    await databaseRows(url, 'CREATE SCHEMA test_time');
    await time.#replaceClock();
    const name = new URL(url).pathname.slice(1);
    await databaseRows(url, `ALTER DATABASE "${name}" SET search_path = test_time, pg_catalog, public`);
    return time;
  }

  /** Moves the clock forward, or backward if negative. */
  async advance(milliseconds: number): Promise<void> {
    this.#shift += milliseconds;
    await this.#replaceClock();
  }

  /** Lets the clock run like the real one again, after `stopAt`. */
  async run(): Promise<void> {
    this.#shift = 0;
    this.#stoppedAt = undefined;
    await this.#replaceClock();
  }

  /** Stops the clock at a time, in Unix milliseconds; `advance` still moves it. */
  async stopAt(time: number): Promise<void> {
    this.#shift = 0;
    this.#stoppedAt = time;
    await this.#replaceClock();
  }

  /** The function hides the real one, which is still available as pg_catalog.clock_timestamp(). */
  async #replaceClock(): Promise<void> {
    const now =
      this.#stoppedAt === undefined ? 'pg_catalog.clock_timestamp()' : `to_timestamp(${this.#stoppedAt / 1000})`;
    await databaseRows(
      this.#url,
      `CREATE OR REPLACE FUNCTION test_time.clock_timestamp() RETURNS timestamptz LANGUAGE sql ${this.#volatility}
         AS $$SELECT ${now} + ${this.#shift} * interval '1 millisecond'$$`,
    );
  }
}
