import { systemClock } from '../clock.ts';
import { decodeCursor, encodeCursor } from '../http/cursor.ts';
import { byGuild, itself } from '../postgres/citus/by-guild.ts';
import { longRunning, type Queryable } from '../postgres/pool.ts';
import { LoadingCache } from '../resilience/cache.ts';
import type { ErasureRule, UserColumn } from './erasure-rules.ts';
import { type Accounts, conditionOf, type Search, searchesFor } from './user-search.ts';

/** The maximum number of guilds that one statement searches in a table. */
const GUILDS = 500;
/**
 * The maximum number of rows on a page of a data export: less than 1 MiB even for staff actions with details of 4 KiB.
 */
const ROWS = 100;
const COLUMNS_TTL_MS = 60_000;

export interface GuildsOfUser {
  /** The IDs of guilds whose data names the user, in ascending order. */
  guildIds: string[];
  /** The last guild ID up to which all tables were searched; undefined if there are no more guilds. */
  searchedTo: string | undefined;
}

export interface ExportedPage {
  /** The exported rows, each as a JSON object. */
  rows: { table: string; row: string }[];
  /** The cursor of the next page; empty on the last page. */
  nextCursor: string;
}

interface SearchedGuild {
  guildId: string;
  /** True if a row of the guild names the user. */
  isNamed: boolean;
}

interface Column {
  name: string;
  type: string;
  isKey: boolean;
}

export interface UserExportOptions {
  database: Queryable;
  rules: readonly ErasureRule[];
}

/**
 * Exports the data of a user from the tables of a service. It follows the erasure rules: everything that an erasure of
 * the user would erase is exported.
 */
export class UserExport {
  readonly #database: Queryable;
  /** The erasure rules of those tables that name users. */
  readonly #rules: readonly (ErasureRule & { users: readonly UserColumn[] })[];
  /** A cache of the columns of each table. Migrations run during a release, so cached columns may be a minute old. */
  readonly #columns: LoadingCache<Column[]>;

  constructor({ database, rules }: UserExportOptions) {
    this.#database = database;
    this.#rules = rules.flatMap((rule) => (rule.users ? [{ ...rule, users: rule.users }] : []));
    this.#columns = new LoadingCache({
      ttlMs: COLUMNS_TTL_MS,
      max: rules.length,
      clock: systemClock,
      load: (table) => database.query<Column>(COLUMNS, [table]),
    });
  }

  /**
   * Lists the guilds after `after` in whose rows the user is named. Each call searches a limited number of guilds per
   * table. The search goes from one guild to the next through an index on the guild ID, so its cost does not depend on
   * other rows.
   */
  async guildsOf(accounts: Accounts, after: string | undefined): Promise<GuildsOfUser> {
    const found = new Set<string>();
    let searchedTo: string | undefined;
    for (const { table, users } of this.#rules) {
      const searches = users.flatMap((user) => searchesFor(user, accounts[user.account]));
      if (searches.length === 0) continue;
      const guilds = await this.#searchTable(table, searches, after);
      for (const { guildId, isNamed } of guilds) if (isNamed) found.add(guildId);
      const last = guilds.length === GUILDS ? guilds.at(-1)?.guildId : undefined;
      if (last !== undefined && (searchedTo === undefined || last < searchedTo)) searchedTo = last;
    }
    const guildIds = [...found].filter((guildId) => searchedTo === undefined || guildId <= searchedTo);
    return { guildIds: guildIds.toSorted(), searchedTo };
  }

  async #searchTable(table: string, searches: readonly Search[], after: string | undefined): Promise<SearchedGuild[]> {
    if (await this.#database.isDistributed?.()) return this.#searchGuilds(table, searches, after);
    const conditions = searches.map((search, index) => conditionOf(search, `$${index + 2}`, 'part.guild_id'));
    return this.#database.query<SearchedGuild>(
      longRunning(`WITH RECURSIVE guilds (guild_id) AS (
         (SELECT guild_id FROM ${table} WHERE guild_id ${after === undefined ? '>=' : '>'} $1 ORDER BY guild_id LIMIT 1)
         UNION ALL
         SELECT (SELECT t.guild_id FROM ${table} t WHERE t.guild_id > guilds.guild_id ORDER BY t.guild_id LIMIT 1)
         FROM guilds WHERE guilds.guild_id IS NOT NULL),
       part AS MATERIALIZED (SELECT guild_id FROM guilds WHERE guild_id IS NOT NULL LIMIT ${GUILDS})
       SELECT part.guild_id AS "guildId", EXISTS (
         SELECT FROM ${table} t WHERE t.guild_id = part.guild_id AND (${conditions.join(' OR ')})) AS "isNamed"
       FROM part ORDER BY part.guild_id`),
      [after ?? '', ...searches.map(({ id }) => id)],
    );
  }

  /** `searchTable` with Citus: reads the guilds of pages of rows, and then searches each guild with a statement of its own. */
  async #searchGuilds(table: string, searches: readonly Search[], after: string | undefined): Promise<SearchedGuild[]> {
    const guilds = new Set<string>();
    let reached = after;
    for (let isLast = false; !isLast && guilds.size < GUILDS; ) {
      const rows = await this.#database.query<{ guildId: string }>(
        longRunning(`SELECT guild_id AS "guildId" FROM ${table}
          WHERE guild_id ${reached === undefined ? '>=' : '>'} $1 ORDER BY guild_id LIMIT ${GUILDS}`),
        [reached ?? ''],
      );
      for (const { guildId } of rows) guilds.add(guildId);
      reached = rows.at(-1)?.guildId;
      isLast = rows.length < GUILDS;
    }
    const conditions = searches.map((search, index) => conditionOf(search, `$${index + 2}`));
    const text = longRunning(`SELECT EXISTS (
      SELECT FROM ${table} WHERE guild_id = $1 AND (${conditions.join(' OR ')})) AS "isNamed"`);
    const ids = searches.map(({ id }) => id);
    return byGuild(this.#database, [...guilds].slice(0, GUILDS), itself, async ([guildId = '']) => {
      const [row] = await this.#database.query<{ isNamed: boolean }>(text, [guildId, ...ids]);
      return [{ guildId, isNamed: row?.isNamed ?? false }];
    });
  }

  /**
   * Returns a page of a user's data export from one guild: rows about the user as a whole, and of other rows only the
   * part that names the user.
   */
  async page(guildId: string, accounts: Accounts, cursor: string): Promise<ExportedPage> {
    const scope = { route: 'export', guildId, filters: accounts };
    const start = cursor === '' ? undefined : decodeCursor(scope, cursor, 'request.cursor');
    const [from, ...startKey] = start === undefined ? ['0'] : (JSON.parse(start) as string[]);
    const rows: ExportedPage['rows'] = [];
    for (let index = Number(from); index < this.#rules.length; index++) {
      const rule = this.#rules[index];
      if (!rule) continue;
      const key = index === Number(from) ? startKey : [];
      const found = await this.#read(rule, guildId, accounts, key, ROWS - rows.length);
      rows.push(...found.map(({ row }) => ({ table: rule.table, row })));
      const last = found.at(-1);
      if (rows.length === ROWS && last) {
        return { rows, nextCursor: encodeCursor(scope, JSON.stringify([String(index), ...last.key])) };
      }
    }
    return { rows, nextCursor: '' };
  }

  async #read(
    { table, users, exports }: ErasureRule & { users: readonly UserColumn[] },
    guildId: string,
    accounts: Accounts,
    after: readonly string[],
    limit: number,
  ): Promise<{ row: string; key: string[] }[]> {
    const searches = users.flatMap((user) => searchesFor(user, accounts[user.account]));
    if (searches.length === 0) return [];
    const columns = await this.#columns.get(table);
    const key = columns.filter(({ isKey }) => isKey);
    const values: unknown[] = [guildId];
    const bind = (value: unknown) => `$${values.push(value)}`;
    const conditions = searches.map((search) => conditionOf(search, bind(search.id)));
    const row = rowText(searches, conditions, columns, { users, exports }, accounts, bind);
    const keyNames = key.map(({ name }) => name).join(', ');
    const position = after.map((value, index) => `${bind(value)}::text::${key[index]?.type ?? 'text'}`).join(', ');
    return this.#database.query<{ row: string; key: string[] }>(
      longRunning(`SELECT (${row})::text AS row, ARRAY[${key.map(({ name }) => `${name}::text`).join(', ')}] AS key
       FROM ${table} AS t WHERE guild_id = $1 AND (${conditions.join(' OR ')})
         ${position && `AND (${keyNames}) > (${position})`}
       ORDER BY ${keyNames} LIMIT ${limit}`),
      values,
    );
  }
}

/** Reads the columns of a table, first those of its primary key in the order of the key. */
const COLUMNS = `
  SELECT attname AS name, format_type(atttypid, atttypmod) AS type, position IS NOT NULL AS "isKey"
  FROM pg_attribute
  LEFT JOIN LATERAL (
    SELECT array_position(indkey::int2[], attnum) AS position FROM pg_index
    WHERE indrelid = attrelid AND indisprimary) AS primary_key ON true
  WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
  ORDER BY position NULLS LAST, attnum`;

/**
 * Returns the SQL for the JSON text of an exported row. A row that an erasure would delete is exported as a whole,
 * without hashes and other users; of any other row only the part that names the user is exported.
 */
function rowText(
  searches: readonly Search[],
  conditions: readonly string[],
  columns: readonly Column[],
  { users, exports = `'{}'::jsonb` }: { users: readonly UserColumn[]; exports?: string | undefined },
  accounts: Accounts,
  bind: (value: unknown) => string,
): string {
  const key = columns.filter(({ isKey }) => isKey).map(({ name }) => `'${name}', ${name}`);
  const parts = searches.map(({ user: { empty, shows } }, index) => {
    const emptied = Object.keys(empty ?? {}).map((name) => `'${name}', ${name}`);
    const shown = shows ?? `jsonb_build_object(${emptied.join(', ')})`;
    const bound = shown.includes('$user') ? shown.replaceAll('$user', bind(searches[index]?.id)) : shown;
    return empty ? `CASE WHEN ${conditions[index]} THEN ${bound} ELSE '{}' END` : `'{}'::jsonb`;
  });
  const deleted = conditions.filter((_, index) => searches[index]?.user.empty === undefined);
  const part = [`jsonb_build_object(${key.join(', ')})`, ...parts].join(' || ');
  if (deleted.length === 0) return part;
  const hidden = columns.filter(({ type }) => type === 'bytea').map(({ name }) => `'${name}'`);
  const others = users
    .filter(({ column }) => columns.some(({ name, type }) => name === column && !type.startsWith('json')))
    .map(({ column, account }) => {
      const own = bind(accounts[account] ?? null);
      return `'${column}', CASE WHEN ${column}::text = ${own}::text THEN ${column} END`;
    });
  const whole = `(to_jsonb(t) - ARRAY[${hidden.join(', ')}]::text[]) || jsonb_build_object(${others.join(', ')}) || ${exports}`;
  return `CASE WHEN ${deleted.join(' OR ')} THEN ${whole} ELSE ${part} END`;
}
