import type { Clock } from '../clock.ts';
import type { LoopLease } from '../leases/loop-leases.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import { guildStatement, inDueGuilds } from './citus/by-guild.ts';
import { isStatementTimeout } from './database-errors.ts';
import { longRunning, type Queryable } from './pool.ts';

/** The maximum number of rows that one statement deletes, few enough to hold locks only briefly. */
const BATCH = 1_000;
/** How much smaller the batches of a sweep become after one that took longer than the statement timeout. */
const BATCH_REDUCTION = 8;
const SWEEP_EVERY_MS = 60_000;
/**
 * The maximum number of batches that one sweep reads of a table without an index on the time; the next sweep continues
 * there.
 */
const MAX_WALKED_BATCHES = 50;

/** Defines how long the rows of a table are kept after the time in `column`. */
export interface RetentionRule {
  table: string;
  column: string;
  seconds: number;
  /**
   * The columns of the primary key, all of type text, if `column` changes too often for an index. Sweeps then read the
   * table in the order of this key, at most 50,000 rows per minute.
   */
  walk?: readonly string[];
  /** False if the table has no column `guild_id`; true by default. */
  hasGuild?: boolean;
}

export interface RetentionOptions {
  database: Queryable;
  rules: readonly RetentionRule[];
  clock: Clock;
  log: Logger;
  /** Held by the replica that deletes; without it this process does. */
  lease?: LoopLease;
}

/** The primary key of the last row that a sweep has read; initially smaller than every key. */
type Position = readonly string[];

/** Deletes the expired rows of a service's tables once a minute, in batches. */
export class Retention implements Part {
  readonly name = 'retention';
  readonly #database: Queryable;
  readonly #rules: readonly RetentionRule[];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #lease: LoopLease | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #isStopped = false;
  /** The position of the sweep in each table that is read in the order of its primary key, by table name. */
  readonly #positions = new Map<string, Position>();

  constructor({ database, rules, clock, log, lease }: RetentionOptions) {
    this.#lease = lease;
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
    }, SWEEP_EVERY_MS).unref();
  }

  async drain(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  get #mayContinue(): boolean {
    return !this.#isStopped && (this.#lease?.isHeld ?? true);
  }

  /** Deletes all rows that are expired now. Errors are logged, and the next sweep a minute later tries again. */
  async sweep(): Promise<void> {
    for (const rule of this.#rules) {
      if (!this.#mayContinue) return;
      try {
        await (rule.walk ? this.#walk(rule, rule.walk) : this.#apply(rule));
      } catch (error) {
        this.#log.warn({ err: error, table: rule.table }, 'failed to delete expired rows, the next sweep tries again');
      }
    }
  }

  async #apply(rule: RetentionRule): Promise<void> {
    const before = new Date(this.#clock.now() - rule.seconds * 1000);
    let batch = BATCH;
    for (let isLeft = true; isLeft && this.#mayContinue; ) {
      try {
        const rows = await this.#deleteBefore(rule, before, batch);
        isLeft = rows.length >= batch;
      } catch (error) {
        // Deleting some rows takes long because of their triggers. Without smaller batches no row would ever be deleted.
        if (!isStatementTimeout(error) || batch === 1) throw error;
        batch = Math.ceil(batch / BATCH_REDUCTION);
      }
    }
  }

  /** Deletes up to `limit` rows (with Citus fewer than twice as many) that are older than `before`, and returns one object for each. */
  #deleteBefore({ table, column, hasGuild = true }: RetentionRule, before: Date, limit: number): Promise<object[]> {
    const deletion = guildStatement(
      1,
      (andGuild) => `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM ${table} WHERE ${column} < $1 ${andGuild(table)} LIMIT ${limit} FOR UPDATE SKIP LOCKED))
         ${andGuild(table)} RETURNING 1`,
    );
    if (!hasGuild) return this.#database.query(deletion.all, [before]);
    const due = { table, condition: `${column} < $1`, order: column, values: [before], limit };
    return inDueGuilds(this.#database, due, (run) => run(deletion, [before]));
  }

  async #walk(rule: RetentionRule, key: readonly string[]): Promise<void> {
    const start = key.map(() => '');
    let from: Position = this.#positions.get(rule.table) ?? start;
    for (let batch = 0; batch < MAX_WALKED_BATCHES && this.#mayContinue; batch++) {
      const end = await this.#endOfBatch(rule.table, key, from);
      if (end) await this.#deleteBetween(rule, key, from, end);
      from = end ?? start;
      this.#positions.set(rule.table, from);
      if (!end) return;
    }
  }

  /** Returns the primary key of the last row in the next batch; undefined after the last batch. */
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

  /**
   * Deletes the expired rows between two primary keys. Rows locked by another transaction are skipped and kept for now.
   */
  async #deleteBetween(
    { table, column, seconds }: RetentionRule,
    key: readonly string[],
    from: Position,
    end: Position,
  ) {
    const columns = key.join(', ');
    const condition = `(${columns}) > (${numbered(key, 1)}) AND (${columns}) <= (${numbered(key, 1 + key.length)})
      AND ${column} < $${1 + 2 * key.length}`;
    const values = [...from, ...end, new Date(this.#clock.now() - seconds * 1000)];
    const deletion = guildStatement(
      values.length,
      (andGuild) => `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM ${table} WHERE ${condition} ${andGuild(table)} FOR UPDATE SKIP LOCKED)) ${andGuild(table)}`,
    );
    const due = { table, condition, order: columns, values, limit: BATCH };
    await inDueGuilds(this.#database, due, (run) => run(deletion, values));
  }
}

/** Returns the SQL placeholders `$1, $2, …` for the columns of a primary key. */
const numbered = (key: readonly string[], first: number) => key.map((_, index) => `$${first + index}`).join(', ');
