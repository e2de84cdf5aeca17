import type { Queryable } from '#kit/postgres/pool.ts';

/**
 * Locks a table that repeats the settings of guilds until the transaction ends. Returns false if another process has
 * locked it.
 */
export async function lockSettingsTable(transaction: Queryable, table: string): Promise<boolean> {
  const [row] = await transaction.query<{ isLocked: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS "isLocked"`,
    [table],
  );
  return row?.isLocked === true;
}
