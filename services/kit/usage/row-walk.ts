import { longRunning, type Queryable } from '../postgres/pool.ts';
import { inKeyOrder, type KeyColumn, primaryKeyOf } from './primary-key.ts';

/**
 * The rows that one statement counts: few enough that it ends long before the statement timeout, even if each row has to be
 * read from a slow disk.
 */
export const WALK_STEP = 20_000;

/** The primary key of a row without the guild, as text. */
type Position = readonly string[];

interface Walk {
  database: Queryable;
  table: string;
  key: readonly KeyColumn[];
  guildId: string;
  step: number;
}

/**
 * Counts the rows of a guild in a table with many of them, in short statements that each count WALK_STEP rows in the order of
 * the primary key. It occupies one connection at a time and never holds a snapshot for long.
 */
export async function countByWalking(
  database: Queryable,
  table: string,
  guildId: string,
  step = WALK_STEP,
): Promise<number> {
  const walk: Walk = { database, table, key: await primaryKeyOf(database, table), guildId, step };
  if (walk.key.length === 0) return countAfter(walk, []);
  let rows = 0;
  let from: Position = [];
  for (;;) {
    const next = await positionAfter(walk, from);
    if (!next) return rows + (await countAfter(walk, from));
    rows += step;
    from = next;
  }
}

/** Returns the position of the row that is `step` rows after a position; undefined if there are fewer rows. */
async function positionAfter(
  { database, table, key, guildId, step }: Walk,
  from: Position,
): Promise<Position | undefined> {
  const names = key.map(({ name }) => name).join(', ');
  const texts = key.map(({ name }, index) => `${name}::text AS k${index}`).join(', ');
  const [row] = await database.query<Record<string, string>>(
    longRunning(`SELECT ${texts} FROM ${table} WHERE ${conditionOf(key, from)}
      ORDER BY ${names} OFFSET ${step - 1} LIMIT 1`),
    [guildId, ...from],
  );
  return row && key.map((_, index) => row[`k${index}`] as string);
}

async function countAfter({ database, table, key, guildId, step }: Walk, from: Position): Promise<number> {
  const text = `SELECT count(*) AS rows FROM (${inKeyOrder(table, key, conditionOf(key, from), step)}) AS counted`;
  const [row] = await database.query<{ rows: number }>(longRunning(text), [guildId, ...from]);
  return row?.rows ?? 0;
}

function conditionOf(key: readonly KeyColumn[], from: Position): string {
  if (from.length === 0) return 'guild_id = $1';
  const names = key.map(({ name }) => name).join(', ');
  const values = key.map(({ type }, index) => `$${index + 2}::${type}`).join(', ');
  return `guild_id = $1 AND (${names}) > (${values})`;
}
