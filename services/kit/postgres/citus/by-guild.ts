import pLimit from 'p-limit';
import { ApiError } from '../../errors.ts';
import { isNodeUnreachable } from '../database-errors.ts';
import type { Queryable, Row } from '../pool.ts';
import type { Statement } from '../statements.ts';

/** The maximum number of statements of one batch at the same time. */
const CONCURRENCY = 4;

/** The guild of a row, for `byGuild`. */
export const guildOf = ({ guildId }: { guildId: string }) => guildId;

/** The guild of a list of guilds, for `byGuild`. */
export const itself = (guildId: string) => guildId;

/** A statement for rows of many guilds, and the same statement for those of one guild. */
export interface GuildStatement {
  all: Statement;
  /** Has the guild as an additional last parameter. */
  one: Statement;
}

/**
 * Creates both texts of a statement. `parameters` is the number of parameters that both have. `write` returns the text, and
 * inserts the result of `andGuild(table)` into the WHERE clause of each table: an empty string for all guilds, and a condition such as
 * `AND keys.guild_id = $3` for one guild. `make` may be `prepared` or `longRunning`.
 */
export function guildStatement(
  parameters: number,
  write: (andGuild: (table: string) => string) => string,
  make: (text: string) => Statement = (text) => text,
): GuildStatement {
  return {
    all: make(write(() => '')),
    one: make(write((table) => `AND ${table}.guild_id = $${parameters + 1}::text`)),
  };
}

/** Runs the form of a statement that fits: for all guilds of a batch, or for one of them. */
type Run = <Result extends object = Row>(statement: GuildStatement, values: readonly unknown[]) => Promise<Result[]>;

const runForAll =
  (on: Queryable): Run =>
  (statement, values) =>
    on.query(statement.all, values);

const runForOne =
  (on: Queryable, guildId: string): Run =>
  (statement, values) =>
    on.query(statement.one, [...values, guildId]);

/**
 * Runs a statement for rows of many guilds. On one PostgreSQL it is executed once with all rows. With Citus it is executed once
 * for each guild, because Citus executes a statement with the ID of one guild on a single node. `work` gets the rows and the
 * function that executes the statement. Returns the results of all executions, grouped by guild.
 */
export async function byGuild<Item, Result>(
  on: Queryable,
  items: readonly Item[],
  guildOfItem: (item: Item) => string,
  work: (items: readonly Item[], run: Run) => Promise<readonly Result[]>,
): Promise<Result[]> {
  if (items.length === 0) return [];
  if (!(await on.isDistributed?.())) return [...(await work(items, runForAll(on)))];
  const guilds = [...Map.groupBy(items, guildOfItem)];
  const [first] = guilds;
  // Awaited here, so that the stack trace of an error shows the caller.
  if (first && guilds.length === 1) return [...(await work(items, runForOne(on, first[0])))];
  if ('afterCommit' in on) return oneAfterAnother(guilds, (guildId, ofGuild) => work(ofGuild, runForOne(on, guildId)));
  const limit = pLimit(CONCURRENCY);
  const results = guilds.map(([guildId, ofGuild]) => limit(() => work(ofGuild, runForOne(on, guildId))));
  return (await Promise.all(results)).flat();
}

/**
 * For a transaction, which has one connection and locks rows in the order of its items. After an error no further
 * statement may be sent, because the transaction is rolled back.
 */
async function oneAfterAnother<Item, Result>(
  guilds: readonly [string, readonly Item[]][],
  work: (guildId: string, items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [guildId, items] of guilds) results.push(...(await work(guildId, items)));
  return results;
}

/** Like `byGuild`, for a statement that returns one result per item in the order of its items. Returns the results in that order. */
export async function byGuildInOrder<Item, Result>(
  on: Queryable,
  items: readonly Item[],
  guildOfItem: (item: Item) => string,
  work: (items: readonly Item[], run: Run) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const placed = items.map((item, place) => ({ item, place }));
  const found = await byGuild(
    on,
    placed,
    ({ item }) => guildOfItem(item),
    async (part, run) => {
      const results = await work(
        part.map(({ item }) => item),
        run,
      );
      return results.map((result, index) => ({ result, place: part[index]?.place ?? 0 }));
    },
  );
  return found.toSorted((a, b) => a.place - b.place).map(({ result }) => result);
}

/**
 * Runs a read that returns one result per item in the order of its items. With Citus it is executed once for each guild, and an
 * UNAVAILABLE stands in place of the results of a guild whose read failed with it. Throws if the read failed for all guilds, unless
 * their node is the cause, because other nodes may be reachable.
 */
export async function byGuildOrError<Item, Result>(
  on: Queryable,
  items: readonly Item[],
  guildOfItem: (item: Item) => string,
  read: (items: readonly Item[], run: Run) => Promise<readonly Result[]>,
): Promise<(Result | ApiError)[]> {
  if (!(await on.isDistributed?.())) return [...(await read(items, runForAll(on)))];
  const results = await byGuildInOrder<Item, Result | ApiError>(on, items, guildOfItem, (part, run) =>
    read(part, run).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'UNAVAILABLE') throw error;
      return part.map(() => error);
    }),
  );
  const isOutage = results.every((result) => result instanceof ApiError && !isNodeUnreachable(result.cause));
  if (isOutage && results[0] instanceof ApiError) throw results[0];
  return results;
}

export interface DueRows {
  /** The table, with its schema. */
  table: string;
  /** The SQL condition that selects the rows to process, and the ORDER BY expression that puts the most overdue row first. */
  condition: string;
  order: string;
  values: readonly unknown[];
  /** The maximum number of rows. */
  limit: number;
}

/**
 * Runs a statement that locks and changes due rows of any guild. On one PostgreSQL it is executed once. With Citus a SELECT
 * without locks first finds the guilds with due rows, and the statement is executed for one guild after the other until it has
 * returned at least `limit` rows. `work` gets the function that executes the statement.
 */
export async function inDueGuilds<Result>(
  on: Queryable,
  { table, condition, order, values, limit }: DueRows,
  work: (run: Run) => Promise<readonly Result[]>,
): Promise<Result[]> {
  if (!(await on.isDistributed?.())) return [...(await work(runForAll(on)))];
  const rows = await on.query<{ guildId: string }>(
    `SELECT guild_id AS "guildId" FROM ${table} WHERE ${condition} ORDER BY ${order} LIMIT ${limit}`,
    values,
  );
  const found: Result[] = [];
  for (const guildId of new Set(rows.map((row) => row.guildId))) {
    if (found.length >= limit) break;
    found.push(...(await work(runForOne(on, guildId))));
  }
  return found;
}
