import { databaseRows } from './database.ts';

/**
 * Controls the clock of a test's database. Leases and locks are compared with `clock_timestamp()`: a test of an expired
 * lease moves this clock, not the clock of a process.
 */
export class DatabaseTime {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Connections that are opened afterwards use this clock, which runs like the real one until it is moved. */
  static async control(url: string): Promise<DatabaseTime> {
    const name = new URL(url).pathname.slice(1);
    for (const statement of [
      'CREATE SCHEMA test_time',
      'CREATE TABLE test_time.shift (by interval NOT NULL, stopped_at timestamptz)',
      `INSERT INTO test_time.shift VALUES ('0')`,
      // Hides the real function, which is still available as pg_catalog.clock_timestamp().
      `CREATE FUNCTION test_time.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
         'SELECT COALESCE(stopped_at, pg_catalog.clock_timestamp()) + by FROM test_time.shift'`,
      `ALTER DATABASE "${name}" SET search_path = test_time, pg_catalog, public`,
    ]) {
      await databaseRows(url, statement);
    }
    return new DatabaseTime(url);
  }

  /** Moves the clock forward, or backward if negative. */
  async advance(milliseconds: number): Promise<void> {
    await databaseRows(this.#url, `UPDATE test_time.shift SET by = by + $1::float8 * interval '1 millisecond'`, [
      milliseconds,
    ]);
  }

  /** Lets the clock run like the real one again, after `stopAt`. */
  async run(): Promise<void> {
    await databaseRows(this.#url, `UPDATE test_time.shift SET by = '0', stopped_at = NULL`);
  }

  /** Stops the clock at a time, in Unix milliseconds; `advance` still moves it. */
  async stopAt(time: number): Promise<void> {
    await databaseRows(this.#url, `UPDATE test_time.shift SET by = '0', stopped_at = to_timestamp($1::float8 / 1000)`, [
      time,
    ]);
  }
}
