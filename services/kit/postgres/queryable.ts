import type { Statement } from './statements.ts';

export type Row = Record<string, unknown>;

/** Runs SQL statements, either on any connection of a pool or in one transaction. */
export interface Queryable {
  /**
   * Runs an SQL statement and returns its rows. Throws UNAVAILABLE if the database cannot be reached or is too slow.
   */
  query<Result extends object = Row>(statement: Statement, values?: readonly unknown[]): Promise<Result[]>;
  /** True if the tables are distributed over several nodes (Citus). Without this method they are on one server. */
  isDistributed?(): Promise<boolean>;
}

/** A transaction that has begun. */
export interface Transaction extends Queryable {
  /**
   * Registers a function that is called after the commit, and after an error that leaves open if the commit succeeded.
   * It must not throw.
   */
  afterCommit(callback: () => void): void;
}
