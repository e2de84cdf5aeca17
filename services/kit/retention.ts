import type { Clock } from './clock.ts';
import type { Part } from './lifecycle.ts';
import type { Logger } from './log.ts';
import type { Queryable } from './postgres.ts';

/** Rows a statement, so that none holds locks for long. Replicas pass over what another is deleting. */
const BATCH = 1_000;
const EVERY_MS = 60_000;

/** How long rows of a table are kept, by a column that holds a time. */
export interface RetentionRule {
  table: string;
  column: string;
  seconds: number;
}

/** Deletes rows past their time, in batches, once a minute. */
export class Retention implements Part {
  readonly name = 'retention';
  readonly #database: Queryable;
  readonly #rules: RetentionRule[];
  readonly #clock: Clock;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #stopped = false;

  constructor(database: Queryable, rules: RetentionRule[], clock: Clock, log: Logger) {
    this.#database = database;
    this.#rules = rules;
    this.#clock = clock;
    this.#log = log;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => {
      this.#sweeping ??= this.sweep().finally(() => {
        this.#sweeping = undefined;
      });
    }, EVERY_MS).unref();
  }

  async drain(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  /** Deletes all that is past its time now. Faults are logged: the next sweep tries again. */
  async sweep(): Promise<void> {
    for (const rule of this.#rules) {
      try {
        await this.#apply(rule);
      } catch (error) {
        this.#log.warn({ err: error, table: rule.table }, 'old rows could not be deleted');
      }
    }
  }

  async #apply({ table, column, seconds }: RetentionRule): Promise<void> {
    const before = new Date(this.#clock.now() - seconds * 1000);
    for (let deleted = BATCH; deleted === BATCH && !this.#stopped; ) {
      const rows = await this.#database.query(
        `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM ${table} WHERE ${column} < $1 LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
        [before],
      );
      deleted = rows.length;
    }
  }
}
