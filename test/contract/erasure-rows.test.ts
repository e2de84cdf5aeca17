// Guarantee: erasing a guild deletes its rows from every table that has a guild, also from one that no other test fills, and
// leaves those of other guilds.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Erasure } from '#kit/personal-data/erasure.ts';
import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { createLog, type Logger } from '#kit/telemetry/log.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '../postgres/database.ts';
import { SERVICES as ALL_SERVICES, filesBelow } from './sources.ts';

/** The services with tables; the console has none. */
const SERVICES = ALL_SERVICES.filter((name) => filesBelow(`services/${name}/migrations`, /\.sql$/).length > 0);
const GUILD = '900000000000000001';
const OTHER = '900000000000000002';
/** Erased by an SQL function that keeps the entries, see test/api/erasure.test.ts. */
const BY_FUNCTION = ['auth.audit'];

/** A value of each type of columns, in SQL. `number` differs from row to row, because some columns are unique. */
const VALUES: Record<string, string> = {
  ARRAY: `'{}'`,
  bigint: 'number',
  boolean: 'true',
  bytea: `convert_to(number::text, 'UTF8')`,
  date: 'current_date',
  'double precision': 'number',
  integer: 'number::integer',
  json: `'{}'`,
  jsonb: `'{}'`,
  smallint: 'number::smallint',
  text: 'number::text',
  'timestamp with time zone': 'now()',
  uuid: 'gen_random_uuid()',
};

let testDatabase: TestDatabase;
let database: Database;
let log: Logger;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  log = await createLog({ service: 'test', level: 'silent' });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const rows = <Row extends object>(text: string, values: unknown[] = []) =>
  databaseRows<Row>(testDatabase.url, text, values);

/** Removes what prevents rows of made-up values: checks, foreign keys, triggers and missing partitions. */
async function acceptAnyRow(table: string): Promise<void> {
  const constraints = await rows<{ name: string }>(
    `SELECT conname AS name FROM pg_constraint WHERE conrelid = $1::regclass AND contype IN ('c', 'f')`,
    [table],
  );
  for (const { name } of constraints) await rows(`ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${name} CASCADE`);
  await rows(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  const [kind] = await rows<{ relkind: string }>('SELECT relkind FROM pg_class WHERE oid = $1::regclass', [table]);
  if (kind?.relkind === 'p') await rows(`CREATE TABLE ${table}_any PARTITION OF ${table} DEFAULT`);
}

/** Inserts one row of each guild, with values only where the table requires them. */
async function insertRows(table: string): Promise<void> {
  const required = await rows<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema || '.' || table_name = $1 AND is_nullable = 'NO' AND column_default IS NULL
       AND is_identity = 'NO' AND is_generated = 'NEVER' AND column_name <> 'guild_id'`,
    [table],
  );
  const unknown = required.filter(({ type }) => VALUES[type] === undefined);
  expect(unknown, `types of columns of ${table} without a value here`).toEqual([]);
  const columns = ['guild_id', ...required.map(({ name }) => name)];
  const values = ['guild_id', ...required.map(({ type }) => VALUES[type])];
  await rows(
    `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')}
     FROM unnest($1::text[]) WITH ORDINALITY AS guild (guild_id, number)`,
    [[GUILD, OTHER]],
  );
}

test.each(SERVICES)('erasing a guild deletes its rows from every table of %s', async (service) => {
  const { erasureRules } = (await import(`../../services/${service}/erasure.ts`)) as { erasureRules: ErasureRule[] };
  const rules = erasureRules.filter(
    ({ table, belongsToInstallation }) => !belongsToInstallation && !BY_FUNCTION.includes(table),
  );
  expect(rules.length).toBeGreaterThan(2);
  for (const { table } of rules) await acceptAnyRow(table);
  for (const { table } of rules) await insertRows(table);
  const erasure = new Erasure({ database, rules, log });
  while (!(await erasure.eraseGuild(GUILD, false)).isDone);
  const kept = rules.filter(({ keptRows }) => keptRows === 'TRUE').map(({ table }) => table);
  const left = async (guild: string) => {
    const counts = await Promise.all(
      rules.map(async ({ table }) => ({
        table,
        rows: (await rows(`SELECT FROM ${table} WHERE guild_id = $1`, [guild])).length,
      })),
    );
    return counts.filter((count) => count.rows > 0).map(({ table }) => table);
  };
  expect(await left(GUILD)).toEqual(kept);
  expect(await left(OTHER)).toEqual(rules.map(({ table }) => table));
});
