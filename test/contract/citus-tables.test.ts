// With Citus each table is distributed by guild, a reference table, or declared as local, also one that a later migration adds.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { MIGRATIONS_TABLE, PLACEMENTS } from '../../deploy/citus/placements.ts';
import { SERVICES } from './sources.ts';

interface Table {
  name: string;
  hasGuild: boolean;
  /** The unique indexes that do not begin with the guild. */
  unique: string[];
  /** The tables to which foreign keys refer, and whether these begin with the guild. */
  keys: { to: string; hasGuild: boolean }[];
}

let database: TestDatabase;
let tables: Table[];

beforeAll(async () => {
  database = await createTestDatabase();
  tables = await databaseRows<Table>(
    database.url,
    `SELECT format('%I.%I', nspname, relname) AS name,
       EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'guild_id') AS "hasGuild",
       ARRAY(SELECT indexrelid::regclass::text FROM pg_index
         JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
         WHERE indrelid = pg_class.oid AND indisunique AND attname <> 'guild_id') AS unique,
       coalesce((SELECT json_agg(json_build_object('to', confrelid::regclass::text, 'hasGuild', attname = 'guild_id'))
         FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
         WHERE conrelid = pg_class.oid AND contype = 'f'), '[]') AS keys
     FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname = ANY($1) AND relname <> $2`,
    [SERVICES, MIGRATIONS_TABLE],
  );
});
afterAll(() => database.drop());

const distributed = () => tables.filter(({ name }) => !PLACEMENTS[name]);

test('a table without a guild is declared as a reference table or as local, with a reason', () => {
  expect(tables.length).toBeGreaterThan(70);
  expect(distributed().filter(({ hasGuild }) => !hasGuild)).toEqual([]);
  for (const { reason } of Object.values(PLACEMENTS)) expect(reason).not.toBe('');
});

test('each declared table exists', () => {
  const names = tables.map(({ name }) => name);
  expect(Object.keys(PLACEMENTS).filter((name) => !names.includes(name))).toEqual([]);
});

test('a distributed table has no unique index across guilds, which no node could check', () => {
  expect(distributed().filter(({ unique }) => unique.length > 0)).toEqual([]);
});

test('a foreign key refers to rows of the same guild, or to a reference table', () => {
  const isChecked = ({ to, hasGuild }: Table['keys'][number]) =>
    PLACEMENTS[to] ? PLACEMENTS[to].kind === 'reference' : hasGuild;
  expect(distributed().filter(({ keys }) => !keys.every(isChecked))).toEqual([]);
  expect(tables.filter(({ name, keys }) => PLACEMENTS[name] && keys.length > 0)).toEqual([]);
});
