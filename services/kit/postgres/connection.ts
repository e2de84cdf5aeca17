import { performance } from 'node:perf_hooks';
import { type ClientBase, DatabaseError, type QueryConfig, type QueryResult } from 'pg';
import type { Histogram } from 'prom-client';
import { ApiError } from '../errors.ts';
import { within } from '../resilience/deadline.ts';
import { recordedSpan } from '../telemetry/tracing/current-span.ts';
import type { CachedPlans } from './cached-plans.ts';
import { isNodeUnreachable, isRejectedStatement, isRetryable, isUniqueViolation } from './database-errors.ts';
import type { DatabaseHealth } from './health.ts';
import type { Queryable, Row, Transaction } from './queryable.ts';
import { describeStatement, type Statement } from './statements.ts';

/**
 * The timeout in milliseconds of a BEGIN, and of a read outside of a transaction including the wait for a connection. A
 * BEGIN or a read can be abandoned safely, because it changes nothing. With this timeout clients of the API get a
 * response within two seconds, even if one service waits for a read of another service. The deadline of a call between
 * services must be longer, so that the called service can report the timeout.
 */
export const READ_MS = 1_600;
export const STATEMENT_MS = 5_000;
/**
 * The maximum wait in milliseconds for the response to a statement. It is longer than PostgreSQL's own statement
 * timeout, so it is only reached if the connection is lost without notice.
 */
const NO_RESPONSE_MS = STATEMENT_MS + 1_000;

interface ConnectionOptions {
  client: ClientBase;
  /** Undefined if statements may not be prepared. */
  plans: CachedPlans | undefined;
  health: DatabaseHealth;
  /** The duration of each statement, also of those that fail. */
  seconds: Histogram;
  isDistributed: (on: Queryable) => Promise<boolean>;
}

/** One database connection while a caller has it checked out of the pool. */
export class Connection implements Transaction {
  readonly #client: ClientBase;
  readonly #plans: CachedPlans | undefined;
  readonly #health: DatabaseHealth;
  readonly #seconds: Histogram;
  readonly isDistributed: () => Promise<boolean>;
  /**
   * True if the state of the database connection is unknown: it is then closed, which also rolls back its transaction.
   */
  isBroken = false;
  /** True once the transaction has ended: a later statement would run in the next transaction of the database connection. */
  #isOver = false;
  readonly #committed: (() => void)[] = [];

  constructor({ client, plans, health, seconds, isDistributed }: ConnectionOptions) {
    this.isDistributed = () => isDistributed(this);
    this.#client = client;
    this.#plans = plans;
    this.#health = health;
    this.#seconds = seconds;
  }

  async query<Result extends object = Row>(statement: Statement, values?: readonly unknown[]): Promise<Result[]> {
    return (await this.run(statement, values)).rows as Result[];
  }

  afterCommit(callback: () => void): void {
    this.#committed.push(callback);
  }

  /** Calls the functions that were registered with `afterCommit`. */
  committed(): void {
    for (const callback of this.#committed.splice(0)) callback();
  }

  /** Executes COMMIT or ROLLBACK. Each statement that comes later is rejected. */
  end(statement: 'COMMIT' | 'ROLLBACK'): Promise<QueryResult> {
    const response = this.run(statement);
    this.#isOver = true;
    return response;
  }

  /**
   * Executes an SQL statement. If PostgreSQL sends no response within `milliseconds`, throws UNAVAILABLE, and the pool closes the
   * connection instead of using it again.
   */
  run(statement: Statement, values?: readonly unknown[], milliseconds = NO_RESPONSE_MS): Promise<QueryResult> {
    if (this.#isOver) return Promise.reject(new Error('the transaction has ended'));
    const span = recordedSpan();
    if (!span) return this.#run(statement, values, milliseconds);
    const work = () => this.#run(statement, values, milliseconds);
    return span.call(describeStatement(statement), work, { isExpected: isUniqueViolation });
  }

  async #run(statement: Statement, values: readonly unknown[] | undefined, milliseconds: number): Promise<QueryResult> {
    // A broken database connection must not be used again, for example to commit a transaction with a failed statement.
    if (this.isBroken) throw new ApiError('UNAVAILABLE', { cause: new Error('the connection is broken') });
    const text = typeof statement === 'string' ? statement : statement.text;
    const name = typeof statement === 'object' && 'name' in statement && this.#plans ? statement.name : undefined;
    let started = performance.now();
    try {
      if (name !== undefined && this.#plans?.claimDiscard(this.#client)) {
        // If it times out, the statement is not sent.
        await this.#health.watch(this.#send({ text: 'DISCARD PLANS' }, milliseconds));
        started = performance.now();
      }
      const result = await this.#health.watch(this.#send({ name, text, values } as QueryConfig, milliseconds));
      this.#health.responded();
      return result;
    } catch (error) {
      if (error instanceof DatabaseError) this.#health.responded();
      // The stack trace is captured again, to show the caller instead of the place where the response was parsed.
      if (error instanceof Error) Error.captureStackTrace(error);
      if (isRejectedStatement(error)) throw error;
      this.isBroken ||= !isRetryable(error) && !isNodeUnreachable(error);
      if (this.isBroken) this.#health.doubt();
      throw new ApiError('UNAVAILABLE', { cause: error });
    } finally {
      this.#seconds.observe((performance.now() - started) / 1000);
    }
  }

  /**
   * Sends a statement to PostgreSQL with a callback and our own timeout, because pg's promises and query_timeout keep
   * the rows in memory (deploy/decisions/0009-query-callbacks.md).
   */
  #send(config: QueryConfig, milliseconds: number): Promise<QueryResult> {
    const response = new Promise<QueryResult>((resolve, reject) => {
      this.#client.query(config, (error, result) => (error ? reject(error) : resolve(result)));
    });
    return within(milliseconds, response);
  }
}

/** Runs `work` in a transaction, which is committed if `work` succeeds and rolled back if it throws. */
export async function transaction<Result>(
  connection: Connection,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  await connection.run('BEGIN', undefined, READ_MS);
  try {
    const result = await work(connection);
    // If the response to COMMIT is lost, the transaction may have been committed all the same.
    const { command } = await connection.end('COMMIT').catch((error: unknown) => {
      connection.committed();
      throw error;
    });
    // If a statement has failed and the work continued, PostgreSQL responds to COMMIT with ROLLBACK, without an error.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: one of its statements had failed');
    connection.committed();
    return result;
  } catch (error) {
    // A failed rollback marks the database connection as broken. The first error is thrown, because it is the cause.
    if (!connection.isBroken) await connection.end('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
