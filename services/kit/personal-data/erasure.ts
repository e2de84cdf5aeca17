import { performance } from 'node:perf_hooks';
import { longRunning, type Queryable } from '../postgres/pool.ts';
import type { Logger } from '../telemetry/log.ts';
import type { ErasureRule } from './erasure-rules.ts';
import { type Accounts, namedBy, type Search } from './user-search.ts';

/** Rows a statement, so that none holds locks for long. */
const BATCH = 1_000;
/** How long a call goes on with further batches. */
const WORK_MS = 2_000;
const MOST_COUNTED = 1_000_000;

/** What a call has done, or what a dry run has counted. */
export interface Erased {
  /** Only those where there was something. */
  tables: { table: string; rows: number }[];
  /** False: there is more, or it can not be done yet. */
  isDone: boolean;
}

export interface ErasureOptions {
  database: Queryable;
  rules: readonly ErasureRule[];
  log: Logger;
  /** Whether a guild's rows may go now; where left out they always may. */
  isGuildFree?: (guildId: string) => Promise<boolean>;
  /** Called with the guild when rows of it are gone, so that caches forget it. */
  erased?: (guildId: string) => void;
}

/** Rows that are meant, and what becomes of them: nothing is set where they are deleted. */
interface Target {
  table: string;
  /** A call that erases a batch and returns the number of rows, in place of a statement. */
  call?: { text: string; values: unknown[] } | undefined;
  condition: string;
  values: unknown[];
  set?: string | undefined;
}

/** Removes what the tables of a service keep of a guild, or of a user of it: in batches, as often as it is asked. */
export class Erasure {
  readonly #options: ErasureOptions;

  constructor(options: ErasureOptions) {
    this.#options = options;
  }

  /** Everything of a guild. */
  async eraseGuild(guildId: string, dryRun: boolean): Promise<Erased> {
    const { rules, isGuildFree } = this.#options;
    // Where everything stays, the service may have no right to lock rows.
    const applying = rules.filter(({ guildKeeps, isInstallations }) => guildKeeps !== 'TRUE' && !isInstallations);
    const targets = applying.map(({ table, guildKeeps, functions }) => ({
      table,
      condition: `guild_id = $1${guildKeeps === undefined ? '' : ` AND NOT (${guildKeeps})`}`,
      values: [guildId],
      call: functions && { text: `SELECT ${functions.guild}($1, ${BATCH}) AS rows`, values: [guildId] },
    }));
    if (dryRun) return this.#count(targets);
    if (isGuildFree && !(await isGuildFree(guildId))) return { tables: [], isDone: false };
    return this.#erase(guildId, targets);
  }

  /** What names a user, by one account or both. */
  async eraseUser(guildId: string, accounts: Accounts, dryRun: boolean): Promise<Erased> {
    const targets = this.#options.rules.flatMap(({ table, users = [], functions }): Target[] => {
      const named = users.flatMap((user) => namedBy(user, accounts[user.account]));
      if (dryRun) return targetOf(guildId, table, named);
      if (functions) {
        const text = `SELECT ${functions.user}($1, $2, $3, ${BATCH}) AS rows`;
        const call = { text, values: [guildId, accounts.game ?? null, accounts.chat ?? null] };
        return targetOf(guildId, table, named).map((target) => ({ ...target, call }));
      }
      return [
        ...targetOf(
          guildId,
          table,
          named.filter(({ user }) => user.empty === undefined),
        ),
        ...targetOf(
          guildId,
          table,
          named.filter(({ user }) => user.empty !== undefined),
        ),
      ];
    });
    return dryRun ? this.#count(targets) : this.#erase(guildId, targets);
  }

  async #count(targets: readonly Target[]): Promise<Erased> {
    const counts = new Map<string, number>();
    for (const { table, condition, values } of targets) {
      const [row] = await this.#options.database.query<{ rows: number }>(
        longRunning(
          `SELECT count(*) AS rows FROM (SELECT FROM ${table} WHERE ${condition} LIMIT ${MOST_COUNTED}) AS counted`,
        ),
        values,
      );
      add(counts, table, row?.rows ?? 0);
    }
    return { tables: listed(counts), isDone: true };
  }

  async #erase(guildId: string, targets: readonly Target[]): Promise<Erased> {
    const { database, log, erased } = this.#options;
    const until = performance.now() + WORK_MS;
    const counts = new Map<string, number>();
    let isDone = true;
    for (const target of targets) {
      for (let isLeft = true; isLeft && isDone; ) {
        const { found, gone } = await eraseBatch(database, target);
        add(counts, target.table, gone);
        isLeft = found > 0;
        isDone = !isLeft || performance.now() < until;
      }
    }
    const tables = listed(counts);
    if (tables.length > 0) {
      log.info({ guild_id: guildId, tables }, 'rows were erased');
      erased?.(guildId);
    }
    return { tables, isDone };
  }
}

/** The rows of a table that any of the searches finds; each search has a parameter of its own, of its column's type. */
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
    return `${name} = CASE ${cases.join(' ')} ELSE ${name} END`;
  });
  return [
    {
      table,
      condition: `guild_id = $1 AND (${found.map(({ condition }) => condition).join(' OR ')})`,
      values: [guildId, ...found.map(({ id }) => id)],
      set: set.length > 0 ? set.join(', ') : undefined,
    },
  ];
}

/**
 * How many rows were found, and how many of them are gone: one that was changed while it was waited for has moved, and
 * is found again by the next batch.
 */
async function eraseBatch(
  database: Queryable,
  { table, condition, values, set, call }: Target,
): Promise<{ found: number; gone: number }> {
  if (call) {
    const [erased] = await database.query<{ rows: number }>(longRunning(call.text), call.values);
    return { found: erased?.rows ?? 0, gone: erased?.rows ?? 0 };
  }
  const change = set === undefined ? `DELETE FROM ${table}` : `UPDATE ${table} SET ${set}`;
  const [counted] = await database.query<{ found: number; gone: number }>(
    `WITH found AS MATERIALIZED (SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${BATCH} FOR UPDATE),
       gone AS (${change} WHERE ctid = ANY(ARRAY(SELECT ctid FROM found)) RETURNING 1)
     SELECT (SELECT count(*) FROM found)::int AS found, (SELECT count(*) FROM gone)::int AS gone`,
    values,
  );
  return counted ?? { found: 0, gone: 0 };
}

function add(counts: Map<string, number>, table: string, rows: number): void {
  if (rows > 0) counts.set(table, (counts.get(table) ?? 0) + rows);
}

const listed = (counts: ReadonlyMap<string, number>) => [...counts].map(([table, rows]) => ({ table, rows }));
