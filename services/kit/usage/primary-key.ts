import type { Queryable } from '../postgres/pool.ts';

/** A column of a primary key after `guild_id`, with the name of its SQL type. */
export interface KeyColumn {
  name: string;
  type: string;
}

/** Returns the columns of a table's primary key that follow `guild_id`. Throws if the key does not begin with it. */
export async function primaryKeyOf(database: Queryable, table: string): Promise<KeyColumn[]> {
  const columns = await database.query<KeyColumn>(
    `SELECT quote_ident(attname) AS name, format_type(atttypid, NULL) AS type
     FROM pg_index
     CROSS JOIN LATERAL unnest(indkey::smallint[]) WITH ORDINALITY AS keys (number, position)
     JOIN pg_attribute ON attrelid = indrelid AND attnum = number
     WHERE indrelid = to_regclass($1) AND indisprimary ORDER BY position`,
    [table],
  );
  const [first, ...others] = columns;
  if (first?.name !== 'guild_id') throw new Error(`the primary key of ${table} does not begin with guild_id`);
  return others;
}

/**
 * SQL that selects up to `limit` rows in the order of the primary key, without columns. The order makes PostgreSQL read the
 * index of the key and stop at the limit, whatever it assumes about the number of rows.
 */
export function inKeyOrder(table: string, key: readonly KeyColumn[], condition: string, limit: number): string {
  const order = key.length === 0 ? '' : ` ORDER BY ${key.map(({ name }) => name).join(', ')}`;
  return `SELECT 1 FROM ${table} WHERE ${condition}${order} LIMIT ${limit}`;
}
