import type { Clock } from '../clock.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import { longRunning, type Queryable } from './pool.ts';

/** Rows a statement, so that none holds locks for long. Replicas pass over what another is deleting. */
const BATCH = 1_000;
const EVERY_MS = 60_000;
/** Batches of a sweep through a table that is walked; the next sweep goes on there. */
const MOST_WALKED = 50;

/** How long rows of a table are kept, by a column that holds a time. */
export interface RetentionRule {
  table: string;
  column: string;
  seconds: number;
  /**
   * The primary key, of text columns, where the column has no index since it changes too often for one: the table is
   * walked along its key, at most 50,000 rows a minute.
   */
  walk?: readonly string[];
}

/** Where a walk goes on; before every key at first. */
type Position = readonly string[];

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
  /** By table. */
  readonly #positions = new Map<string, Position>();

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
        await (rule.walk ? this.#walk(rule, rule.walk) : this.#apply(rule));
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

  async #walk(rule: RetentionRule, key: readonly string[]): Promise<void> {
    const start = key.map(() => '');
    let from: Position = this.#positions.get(rule.table) ?? start;
    for (let batch = 0; batch < MOST_WALKED && !this.#stopped; batch++) {
      const end = await this.#endOfBatch(rule.table, key, from);
      if (end) await this.#deleteBetween(rule, key, from, end);
      from = end ?? start;
      this.#positions.set(rule.table, from);
      if (!end) return;
    }
  }

  /** The last key of the next batch; undefined behind the last. */
  async #endOfBatch(table: string, key: readonly string[], from: Position): Promise<Position | undefined> {
    const [end] = await this.#database.query<Record<string, string>>(
      longRunning(`SELECT * FROM (
         SELECT ${key.join(', ')} FROM ${table} WHERE (${key.join(', ')}) > (${numbered(key, 1)})
         ORDER BY ${key.join(', ')} LIMIT ${BATCH}
       ) AS batch ORDER BY ${key.map((column) => `${column} DESC`).join(', ')} LIMIT 1`),
      from,
    );
    return end && key.map((column) => String(end[column]));
  }

  /** Rows that are written meanwhile are passed over, and so kept. */
  async #deleteBetween(
    { table, column, seconds }: RetentionRule,
    key: readonly string[],
    from: Position,
    end: Position,
  ) {
    const columns = key.join(', ');
    await this.#database.query(
      `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM ${table}
         WHERE (${columns}) > (${numbered(key, 1)}) AND (${columns}) <= (${numbered(key, 1 + key.length)})
           AND ${column} < $${1 + 2 * key.length} FOR UPDATE SKIP LOCKED))`,
      [...from, ...end, new Date(this.#clock.now() - seconds * 1000)],
    );
  }
}

/** `$1, $2` and so on, for the columns of a key. */
const numbered = (key: readonly string[], first: number) => key.map((_, index) => `$${first + index}`).join(', ');
