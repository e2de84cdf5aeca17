import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { SERVICES } from './sources.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('no index only repeats the first columns of another one: every write would pay for it, and plans would change by chance', async () => {
  const redundant = await databaseRows<{ name: string; other: string }>(
    database.url,
    `SELECT shorter.indexrelid::regclass::text AS name, longer.indexrelid::regclass::text AS other
     FROM pg_index AS shorter
     JOIN pg_index AS longer ON longer.indrelid = shorter.indrelid AND longer.indexrelid <> shorter.indexrelid
     JOIN pg_class ON pg_class.oid = shorter.indrelid
     JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = ANY($1) AND relkind = 'r' AND NOT shorter.indisunique
       AND shorter.indexprs IS NULL
       AND starts_with(longer.indkey::text || ' ', shorter.indkey::text || ' ')
       AND starts_with(longer.indoption::text || ' ', shorter.indoption::text || ' ')
       AND pg_get_expr(longer.indpred, longer.indrelid) IS NOT DISTINCT FROM pg_get_expr(shorter.indpred, shorter.indrelid)
     ORDER BY 1, 2`,
    [SERVICES],
  );
  expect(redundant).toEqual([]);
});
