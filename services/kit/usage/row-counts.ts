import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { RetainedKind } from '#proto/rest/retained-kinds.ts';
import { ApiError } from '../errors.ts';
import type { ErasureRule } from '../personal-data/erasure-rules.ts';
import { type Database, longRunning, prepared, type Queryable } from '../postgres/pool.ts';
import type { Statement } from '../postgres/statements.ts';
import { DeadlineError, within } from '../resilience/deadline.ts';
import { maxEntries } from '../resilience/max-entries.ts';
import { SingleFlight } from '../resilience/single-flight.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { inKeyOrder, primaryKeyOf } from './primary-key.ts';
import { countByWalking } from './row-walk.ts';

/** Up to this many rows of a table are counted for each call; more are counted in the background. */
export const MAX_EXACT = 20_000;
/** How long, in milliseconds, a call waits for the count of small tables. */
const EXACT_WAIT_MS = 1_500;
/** How long, in milliseconds, a call waits for a count in the background. */
const WAIT_MS = 1_000;
/** The seconds after which a caller may ask again for rows that are still being counted. */
const RETRY_SECONDS = 5;
/** The maximum number of counts of each sort, exact ones and ones in the background, that wait for the one that is running. */
const MAX_WAITING = 100;
const MAX_STORED = 10_000;
/**
 * How long, in milliseconds for each row, a count in the background is used. A guild adds fewer than 10,000 rows a
 * minute to a table, so that the count is accurate to within a tenth; and counting takes the same small share of a CPU
 * whatever the size.
 */
const FRESH_MS_PER_ROW = 0.6;
const MAX_FRESH_MS = 3_600_000;

/** A rule of a table whose rows are counted. */
type CountedRule = ErasureRule & { holds: RetainedKind };

interface StoredCount {
  rows: number;
  /** When the count began, by `now`. */
  countedAt: number;
}

export interface RowCountsOptions {
  database: Database;
  rules: readonly ErasureRule[];
  metrics: Metrics;
  log: Logger;
  /** Returns monotonic time in milliseconds. */
  now?: () => number;
}

/** The number of rows that a guild has of one kind. */
export interface RetainedRows {
  kind: RetainedKind;
  rows: number;
}

/**
 * Counts the rows of a guild in the tables of a service. Small tables are counted exactly in one statement that reads at most
 * MAX_EXACT index entries of each table. Larger ones are counted in the background, and the count is used for a time that
 * grows with it. One statement of each sort runs at a time, so that two connections of the pool are occupied at most, however
 * slow the statements are and however many guilds are counted.
 */
export class RowCounts {
  readonly #options: RowCountsOptions;
  readonly #rules: readonly CountedRule[];
  #statement: Statement | undefined;
  readonly #stored = new LRUCache<string, StoredCount>(maxEntries(MAX_STORED));
  readonly #calls = new SingleFlight<RetainedRows[]>();
  readonly #exactCounts = new SingleFlight<Record<string, number | null>>();
  readonly #oneExactCount = pLimit(1);
  readonly #walks = new SingleFlight<number>();
  readonly #oneWalk = pLimit(1);
  readonly #now: () => number;
  readonly #seconds;

  constructor(options: RowCountsOptions) {
    this.#options = options;
    this.#rules = options.rules.filter((rule): rule is CountedRule => rule.holds !== undefined);
    this.#now = options.now ?? (() => performance.now());
    this.#seconds = options.metrics.duration(
      'usage_row_count_seconds',
      'Time to count the rows of a guild in a table with many of them, in the background',
    );
  }

  /**
   * Returns the rows of a guild by kind: exact, or to within a tenth if the guild has many. Throws UNAVAILABLE if a
   * first count of many rows is not ready yet.
   */
  of(guildId: string): Promise<RetainedRows[]> {
    return this.#calls.run(guildId, () => this.#count(guildId));
  }

  async #count(guildId: string): Promise<RetainedRows[]> {
    const counts = await this.#countExactly(guildId);
    const rows = new Map<RetainedKind, number>();
    const byRule = await Promise.all(
      this.#rules.map(async (rule, index) => {
        const count = counts[`c${index}`] ?? 0;
        return {
          rule,
          count: count > MAX_EXACT && !rule.rowCount ? await this.#countMany(rule.table, guildId) : count,
        };
      }),
    );
    for (const { rule, count } of byRule) rows.set(rule.holds, (rows.get(rule.holds) ?? 0) + count);
    return [...rows].map(([kind, count]) => ({ kind, rows: count }));
  }

  /**
   * Returns the rows of each table, at most MAX_EXACT + 1. Throws UNAVAILABLE if that takes long; the statement then keeps its
   * place until PostgreSQL has responded, so that repeated calls cannot occupy several connections.
   */
  async #countExactly(guildId: string): Promise<Record<string, number | null>> {
    const counting = this.#exactCounts.run(guildId, async () => {
      if (this.#oneExactCount.pendingCount >= MAX_WAITING) throw tooManyGuilds();
      return this.#oneExactCount(async () => {
        const { database } = this.#options;
        this.#statement ??= await boundedCounts(database, this.#rules);
        const [counts = {}] = await database.query<Record<string, number | null>>(this.#statement, [guildId]);
        return counts;
      });
    });
    counting.catch(() => undefined);
    try {
      return await within(EXACT_WAIT_MS, counting);
    } catch (error) {
      throw error instanceof DeadlineError ? stillCounting() : error;
    }
  }

  async #countMany(table: string, guildId: string): Promise<number> {
    const key = `${table} ${guildId}`;
    const stored = this.#stored.get(key);
    const freshMs = stored ? Math.min(MAX_FRESH_MS, stored.rows * FRESH_MS_PER_ROW) : 0;
    const age = stored ? this.#now() - stored.countedAt : 0;
    if (stored && age < freshMs) return stored.rows;
    const counting = this.#walks.run(key, () => this.#walk(key, table, guildId));
    // A count that nobody waits for any longer must not cause an unhandled rejection; it is logged.
    counting.catch(() => undefined);
    try {
      return await within(WAIT_MS, counting);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      // While a new count runs, the old count is used until it is twice as old as usual.
      if (stored && age < 2 * freshMs) return stored.rows;
      throw stillCounting();
    }
  }

  async #walk(key: string, table: string, guildId: string): Promise<number> {
    if (this.#oneWalk.pendingCount >= MAX_WAITING) throw tooManyGuilds();
    return this.#oneWalk(async () => {
      const countedAt = this.#now();
      const stopTimer = this.#seconds.startTimer();
      try {
        const rows = await countByWalking(this.#options.database, table, guildId);
        this.#stored.set(key, { rows, countedAt });
        return rows;
      } catch (error) {
        this.#options.log.warn({ err: error, table, guild_id: guildId }, 'failed to count the rows of a guild');
        throw error;
      } finally {
        stopTimer();
      }
    });
  }
}

function stillCounting(): ApiError {
  const message = 'The rows of this guild are being counted, try again in a few seconds';
  return new ApiError('UNAVAILABLE', { message, retryAfter: RETRY_SECONDS });
}

function tooManyGuilds(): ApiError {
  const message = 'The rows of too many guilds are being counted, try again in a few seconds';
  return new ApiError('UNAVAILABLE', { message, retryAfter: RETRY_SECONDS });
}

/**
 * The statement that counts the rows of the guild `$1`: one row with a column for each rule, at most MAX_EXACT + 1. It has no
 * timeout of a read, so that it is not abandoned while it still occupies its connection.
 */
async function boundedCounts(database: Queryable, rules: readonly CountedRule[]): Promise<Statement> {
  const columns: string[] = [];
  for (const [index, { table, rowCount }] of rules.entries()) {
    const rows = async () => inKeyOrder(table, await primaryKeyOf(database, table), 'guild_id = $1', MAX_EXACT + 1);
    columns.push(`(${rowCount ?? `SELECT count(*) FROM (${await rows()}) AS counted`}) AS c${index}`);
  }
  const text = `SELECT ${columns.join(', ')}`;
  return { ...longRunning(text), ...prepared(text) };
}
