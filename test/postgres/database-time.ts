import { databaseRows } from './database.ts';

/**
 * Decides the time of a test's database. Leases, locks and what replicas compare follow `clock_timestamp()`, so a test
 * that lets a lease end moves this clock, and one that steps a process's clock leaves this one alone.
 */
export class DatabaseTime {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Connections that are opened from now on have this time; it runs like the real one until it is moved. */
  static async control(url: string): Promise<DatabaseTime> {
    const name = new URL(url).pathname.slice(1);
    for (const statement of [
      'CREATE SCHEMA test_time',
      'CREATE TABLE test_time.shift (by interval NOT NULL, stopped_at timestamptz)',
      `INSERT INTO test_time.shift VALUES ('0')`,
      // Found before the real one, which keeps its schema's name.
      `CREATE FUNCTION test_time.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
         'SELECT COALESCE(stopped_at, pg_catalog.clock_timestamp()) + by FROM test_time.shift'`,
      `ALTER DATABASE "${name}" SET search_path = test_time, pg_catalog, public`,
    ]) {
      await databaseRows(url, statement);
    }
    return new DatabaseTime(url);
  }

  /** Moves the clock, back where negative. */
  async advance(milliseconds: number): Promise<void> {
    await databaseRows(this.#url, `UPDATE test_time.shift SET by = by + $1::float8 * interval '1 millisecond'`, [
      milliseconds,
    ]);
  }

  /** The clock stands still at a time, in Unix milliseconds, until it is moved. */
  async stopAt(time: number): Promise<void> {
    await databaseRows(this.#url, `UPDATE test_time.shift SET by = '0', stopped_at = to_timestamp($1::float8 / 1000)`, [
      time,
    ]);
  }
}
