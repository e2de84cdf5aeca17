import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { longRunning, type Queryable } from '../postgres/pool.ts';
import type { Logger } from '../telemetry/log.ts';
import type { ErasureRule } from './erasure-rules.ts';
import { type Accounts, type Search, searchesFor } from './user-search.ts';

/** The maximum number of rows that one statement erases, few enough to hold locks only briefly. */
const BATCH = 1_000;
/** The time in milliseconds after which an erasure call starts no further batch of rows. */
const WORK_MS = 2_000;
const MAX_COUNTED = 1_000_000;
/** Milliseconds between two looks whether rows have been sent to another service. */
const SENT_POLL_MS = 50;

/** The numbers of rows that a call has erased, or that a dry run would erase. */
export interface ErasureResult {
  /** The erased rows by table; only tables with at least one such row. */
  tables: { table: string; rows: number }[];
  /** False if there are more rows to erase, or if the guild cannot be erased yet. */
  isDone: boolean;
}

export interface ErasureOptions {
  database: Queryable;
  rules: readonly ErasureRule[];
  log: Logger;
  /** Returns true if a guild may be erased now; every guild may be if left out. */
  canEraseGuild?: (guildId: string) => Promise<boolean>;
  /**
   * Called with the ID of a guild after rows of that guild were erased, and after an error that leaves open if any were, so
   * that caches can be invalidated.
   */
  erased?: (guildId: string) => void;
}

/** The rows of a table to erase. They are deleted if `set` is undefined, otherwise updated. */
interface Target {
  table: string;
  /**
   * The call of an SQL function that erases a batch of rows and returns their number; used instead of a DELETE or
   * UPDATE.
   */
  call?: { text: string; values: unknown[] } | undefined;
  condition: string;
  values: unknown[];
  set?: readonly { name: string; value: string }[] | undefined;
  isCopied?: boolean | undefined;
}

/**
 * Erases the data of a guild, or of a user in a guild, in batches. Callers repeat each call until its result has
 * `isDone`.
 */
export class Erasure {
  readonly #options: ErasureOptions;

  constructor(options: ErasureOptions) {
    this.#options = options;
  }

  /** Erases all data of a guild that its erasure rules do not keep; a dry run only counts the rows. */
  async eraseGuild(guildId: string, dryRun: boolean): Promise<ErasureResult> {
    const { rules, canEraseGuild } = this.#options;
    // Tables that keep all rows are skipped, because the service may have no right to lock rows there.
    const applying = rules.filter(
      ({ keptRows, belongsToInstallation }) => keptRows !== 'TRUE' && !belongsToInstallation,
    );
    const targets = applying.map(({ table, keptRows, sending, functions, isCopied }) => ({
      table,
      isCopied,
      condition: ['guild_id = $1', ...[keptRows, sending].flatMap((kept) => kept ?? []).map(negated)].join(' AND '),
      values: [guildId],
      call: functions && { text: `SELECT ${functions.guild}($1, ${BATCH}) AS rows`, values: [guildId] },
    }));
    if (dryRun) return this.#count(targets);
    if (canEraseGuild && !(await canEraseGuild(guildId))) return { tables: [], isDone: false };
    const until = performance.now() + WORK_MS;
    const result = await this.#erase(guildId, targets, until);
    // Rows that were being sent have been left out.
    const { hasSent } = await this.#afterSending(guildId, until);
    return { ...result, isDone: result.isDone && !hasSent };
  }

  /**
   * Erases the data of a user in a guild; a dry run only counts the rows. The user is identified by one account or
   * both.
   */
  async eraseUser(guildId: string, accounts: Accounts, dryRun: boolean): Promise<ErasureResult> {
    const targets = this.#options.rules.flatMap(({ table, users = [], functions, isCopied }): Target[] => {
      const searches = users.flatMap((user) => searchesFor(user, accounts[user.account]));
      if (dryRun) return targetOf(guildId, table, searches);
      if (functions) {
        const text = `SELECT ${functions.user}($1, $2, $3, ${BATCH}) AS rows`;
        const call = { text, values: [guildId, accounts.game ?? null, accounts.chat ?? null] };
        return targetOf(guildId, table, searches).map((target) => ({ ...target, call }));
      }
      const deleted = searches.filter(({ user }) => user.empty === undefined);
      const emptied = searches.filter(({ user }) => user.empty !== undefined);
      const found = [...targetOf(guildId, table, deleted), ...targetOf(guildId, table, emptied)];
      return found.map((target) => ({ ...target, isCopied }));
    });
    if (dryRun) return this.#count(targets);
    const until = performance.now() + WORK_MS;
    const result = await this.#erase(guildId, targets, until);
    // The rows are erased, but their content from before may still be on the way.
    const { isSending } = await this.#afterSending(guildId, until);
    return { ...result, isDone: result.isDone && !isSending };
  }

  /**
   * Waits until rows of the guild that are being sent now have been sent, but not longer than `until` (of
   * performance.now()). `hasSent`: there were such rows. `isSending`: some are still being sent.
   */
  async #afterSending(guildId: string, until: number): Promise<{ hasSent: boolean; isSending: boolean }> {
    const { database, rules } = this.#options;
    let hasSent = false;
    for (const { table, sending } of rules) {
      if (sending === undefined) continue;
      const find = (rows: readonly string[] | null) =>
        database.query<{ row: string }>(
          `SELECT ctid::text AS row FROM ${table} WHERE guild_id = $1 AND ${sending}
             AND ($2::tid[] IS NULL OR ctid = ANY($2::tid[])) LIMIT ${BATCH}`,
          [guildId, rows],
        );
      let rows = (await find(null)).map(({ row }) => row);
      if (rows.length > 0) hasSent = true;
      while (rows.length > 0) {
        if (performance.now() >= until) return { hasSent, isSending: true };
        await wait(SENT_POLL_MS);
        rows = (await find(rows)).map(({ row }) => row);
      }
    }
    return { hasSent, isSending: false };
  }

  async #count(targets: readonly Target[]): Promise<ErasureResult> {
    const counts = new Map<string, number>();
    for (const { table, condition, values } of targets) {
      const [row] = await this.#options.database.query<{ rows: number }>(
        longRunning(
          `SELECT count(*) AS rows FROM (SELECT 1 FROM ${table} WHERE ${condition} LIMIT ${MAX_COUNTED}) AS counted`,
        ),
        values,
      );
      add(counts, table, row?.rows ?? 0);
    }
    return { tables: listed(counts), isDone: true };
  }

  async #erase(guildId: string, targets: readonly Target[], until: number): Promise<ErasureResult> {
    const { log, erased } = this.#options;
    const counts = new Map<string, number>();
    try {
      const isDone = await this.#eraseTargets(targets, until, counts);
      const tables = listed(counts);
      if (tables.length > 0) {
        log.info({ guild_id: guildId, tables }, 'erased personal data');
        erased?.(guildId);
      }
      return { tables, isDone };
    } catch (error) {
      // Earlier batches are committed, and the failed one may be.
      erased?.(guildId);
      throw error;
    }
  }

  /** Erases rows batch by batch and counts them. Returns false if the time was over before all were erased. */
  async #eraseTargets(targets: readonly Target[], until: number, counts: Map<string, number>): Promise<boolean> {
    for (const target of targets) {
      for (let isLeft = true; isLeft; ) {
        const { found, erased: rows } = await eraseBatch(this.#options.database, target);
        add(counts, target.table, rows);
        isLeft = found > 0;
        if (isLeft && performance.now() >= until) return false;
      }
    }
    return true;
  }
}

/**
 * Combines searches of one table into the rows to erase: all rows that any of the searches finds. Each search has its
 * own SQL parameter, because column types differ.
 */
function targetOf(guildId: string, table: string, searches: readonly Search[]): Target[] {
  if (searches.length === 0) return [];
  const found = searches.map(({ user: { column, matches = `${column} = $user`, empty }, id }, index) => {
    const bound = (text: string) => text.replaceAll('$user', `$${index + 2}`);
    return {
      id,
      condition: `(${bound(matches)})`,
      empty: Object.entries(empty ?? {}).map(([name, to]) => [name, bound(to)]),
    };
  });
  const names = new Set(found.flatMap(({ empty }) => empty.map(([name = '']) => name)));
  const set = [...names].map((name) => {
    const cases = found.flatMap(({ condition, empty }) =>
      empty.filter(([other]) => other === name).map(([, to]) => `WHEN ${condition} THEN ${to}`),
    );
    return { name, value: `CASE ${cases.join(' ')} ELSE ${name} END` };
  });
  return [
    {
      table,
      condition: `guild_id = $1 AND (${found.map(({ condition }) => condition).join(' OR ')})`,
      values: [guildId, ...found.map(({ id }) => id)],
      set: set.length > 0 ? set : undefined,
    },
  ];
}

/**
 * Erases one batch of rows and returns how many rows were found and how many were erased. A row that another
 * transaction changed while the statement waited for its lock is not erased; the next batch finds it again. In a
 * partitioned table rows of different partitions may have the same ctid.
 */
async function eraseBatch(
  database: Queryable,
  { table, condition, values, set, call, isCopied }: Target,
): Promise<{ found: number; erased: number }> {
  if (call) {
    const [result] = await database.query<{ rows: number }>(longRunning(call.text), call.values);
    return { found: result?.rows ?? 0, erased: result?.rows ?? 0 };
  }
  if (isCopied && set === undefined) {
    const { length } = await database.query(`DELETE FROM ${table} WHERE ${condition} RETURNING 1`, values);
    return { found: length, erased: length };
  }
  // The new values are computed while the rows are found, because Citus accepts fewer expressions in an UPDATE.
  const fields = (set ?? []).map(({ name, value }) => `, ${value} AS ${name}`);
  const change =
    set === undefined
      ? `DELETE FROM ${table} AS erasing USING found`
      : `UPDATE ${table} AS erasing SET ${set.map(({ name }) => `${name} = found.${name}`).join(', ')} FROM found`;
  const [counted] = await database.query<{ found: number; erased: number }>(
    `WITH found AS MATERIALIZED (
       SELECT tableoid AS part, ctid AS place${fields.join('')} FROM ${table} WHERE ${condition} LIMIT ${BATCH} FOR UPDATE),
       erased AS (
         ${change} WHERE erasing.guild_id = $1 AND erasing.ctid = ANY(ARRAY(SELECT place FROM found))
           AND erasing.tableoid = found.part AND erasing.ctid = found.place RETURNING 1)
     SELECT (SELECT count(*) FROM found)::int AS found, (SELECT count(*) FROM erased)::int AS erased`,
    values,
  );
  return counted ?? { found: 0, erased: 0 };
}

function add(counts: Map<string, number>, table: string, rows: number): void {
  if (rows > 0) counts.set(table, (counts.get(table) ?? 0) + rows);
}

const negated = (condition: string) => `NOT (${condition})`;

const listed = (counts: ReadonlyMap<string, number>) => [...counts].map(([table, rows]) => ({ table, rows }));
