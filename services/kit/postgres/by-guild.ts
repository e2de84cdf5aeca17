import pLimit from 'p-limit';
import type { Queryable } from './pool.ts';

/** The maximum number of statements of one batch at the same time. */
const CONCURRENCY = 4;

/** The guild of a row, for `byGuild`. */
export const guildOf = ({ guildId }: { guildId: string }) => guildId;

/**
 * Runs a statement for rows of many guilds: once, or with Citus once for each guild, because a statement that is limited
 * to one guild runs on one node. `run` gets the guild, or null if its items are of several; the statement passes it to
 * `onlyGuild`. Returns the results of all runs, those of a guild together.
 */
export async function byGuild<Item, Result>(
  on: Queryable,
  items: readonly Item[],
  guildOfItem: (item: Item) => string,
  run: (items: readonly Item[], guildId: string | null) => Promise<readonly Result[]>,
): Promise<Result[]> {
  if (items.length === 0) return [];
  if (!(await on.isDistributed?.())) return [...(await run(items, null))];
  const guilds = [...Map.groupBy(items, guildOfItem)];
  // A transaction has one connection, and locks rows in the order of its items.
  const limit = pLimit('afterCommit' in on ? 1 : CONCURRENCY);
  return (await Promise.all(guilds.map(([guildId, ofGuild]) => limit(() => run(ofGuild, guildId))))).flat();
}

/** Like `byGuild`, for a statement that returns one row for each item, in their order: so does this function. */
export async function byGuildInOrder<Item, Result>(
  on: Queryable,
  items: readonly Item[],
  guildOfItem: (item: Item) => string,
  run: (items: readonly Item[], guildId: string | null) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const placed = items.map((item, place) => ({ item, place }));
  const found = await byGuild(
    on,
    placed,
    ({ item }) => guildOfItem(item),
    async (part, guildId) => {
      const results = await run(
        part.map(({ item }) => item),
        guildId,
      );
      return results.map((result, index) => ({ result, place: part[index]?.place ?? 0 }));
    },
  );
  return found.toSorted((a, b) => a.place - b.place).map(({ result }) => result);
}

/**
 * SQL that limits a table, such as `keys k`, to the guild that `byGuild` passes, if it passes one. Without a guild the
 * condition is true for each row, and changes no plan.
 */
export const onlyGuild = (table: string, parameter: number) =>
  `($${parameter}::text IS NULL OR ${table}.guild_id = $${parameter}::text)`;

export interface DueRows {
  /** The table, with its schema. */
  table: string;
  /** The SQL condition for the rows that are due, and the expression by which the longest due come first. */
  condition: string;
  order: string;
  values: readonly unknown[];
  /** The maximum number of rows. */
  limit: number;
}

/**
 * Runs a statement that locks the rows that are due, of any guild: once, or with Citus for each guild that has such rows,
 * until there are `limit` of them. `run` gets the guild for `onlyGuild`, or null.
 */
export async function inDueGuilds<Result>(
  on: Queryable,
  { table, condition, order, values, limit }: DueRows,
  run: (guildId: string | null) => Promise<readonly Result[]>,
): Promise<Result[]> {
  if (!(await on.isDistributed?.())) return [...(await run(null))];
  const rows = await on.query<{ guildId: string }>(
    `SELECT guild_id AS "guildId" FROM ${table} WHERE ${condition} ORDER BY ${order} LIMIT ${limit}`,
    values,
  );
  const found: Result[] = [];
  for (const guildId of new Set(rows.map((row) => row.guildId))) {
    if (found.length >= limit) break;
    found.push(...(await run(guildId)));
  }
  return found;
}
