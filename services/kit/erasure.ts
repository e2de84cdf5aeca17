import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import type { Logger } from './log.ts';
import { longRunning, type Queryable } from './postgres.ts';
import { checked } from './validate.ts';

/** Rows a statement, so that none holds locks for long. */
const BATCH = 1_000;
/** How long a call goes on with further batches. */
const WORK_MS = 2_000;
const MOST_COUNTED = 1_000_000;

export type AccountKind = 'chat' | 'game';

/** A column that names a user. */
export interface UserColumn {
  column: string;
  account: AccountKind;
  /** A condition on rows that name the user, who is `$user`, where it is not the column's value. */
  matches?: string;
  /** By column, what is set in such rows (`{ moderator_id: 'NULL' }`); they no longer match then. Without it they go. */
  empty?: Readonly<Record<string, string>>;
}

/** What erasing means for a table. Every table of a service has a rule; a test of the contracts sees to it. */
export interface ErasureRule {
  /** With its schema. It has a column `guild_id`. */
  table: string;
  /** A condition on rows that outlive their guild. */
  guildKeeps?: string;
  /** None: the table names no user. */
  users?: readonly UserColumn[];
}

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
    const targets = rules.map(({ table, guildKeeps }) => ({
      table,
      condition: `guild_id = $1${guildKeeps === undefined ? '' : ` AND NOT (${guildKeeps})`}`,
      values: [guildId],
    }));
    if (dryRun) return this.#count(targets);
    if (isGuildFree && !(await isGuildFree(guildId))) return { tables: [], isDone: false };
    return this.#erase(guildId, targets);
  }

  /** What names a user, by one account or both. */
  async eraseUser(guildId: string, accounts: Partial<Record<AccountKind, string>>, dryRun: boolean): Promise<Erased> {
    const targets = this.#options.rules.flatMap(({ table, users = [] }) => {
      const named = users.flatMap((user) => namedBy(user, accounts[user.account]));
      if (dryRun) return targetOf(guildId, table, named);
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

/** A column, and the user whom it is to be searched for. */
interface Search {
  user: UserColumn;
  id: string;
}

const namedBy = (user: UserColumn, id: string | undefined): Search[] => (id === undefined ? [] : [{ user, id }]);

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
  { table, condition, values, set }: Target,
): Promise<{ found: number; gone: number }> {
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

const guildId = z.string().regex(/^[1-9][0-9]{16,19}$/, { error: 'must be a guild ID' });
const guildRequest = z.object({ guildId, dryRun: z.boolean() });
const userRequest = z
  .object({
    guildId,
    chatId: z
      .string()
      .regex(/^[1-9][0-9]{16,19}$/, { error: 'must be a chat ID' })
      .optional(),
    gameId: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
    dryRun: z.boolean(),
  })
  .refine(({ chatId, gameId }) => chatId !== undefined || gameId !== undefined, {
    path: ['chatId'],
    error: 'or gameId is required',
  });

/** The methods of the erasure contract, which every service with tables answers. */
export function erasureMethods(options: ErasureOptions) {
  const erasure = new Erasure(options);
  return {
    async eraseGuild(message: z.input<typeof guildRequest>): Promise<Erased> {
      const asked = checked(guildRequest, message);
      return erasure.eraseGuild(asked.guildId, asked.dryRun);
    },
    async eraseUser(message: z.input<typeof userRequest>): Promise<Erased> {
      const { chatId, gameId, ...asked } = checked(userRequest, message);
      const accounts = { ...(chatId && { chat: chatId }), ...(gameId && { game: String(gameId) }) };
      return erasure.eraseUser(asked.guildId, accounts, asked.dryRun);
    },
  };
}
