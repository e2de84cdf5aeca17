import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newestMigration } from '#kit/postgres/migrations/files.ts';
import { migrate } from '#kit/postgres/migrations/migrate.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';

let database: TestDatabase;
let client: Client;
let directory: string;
let number = 0;
let service: string;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

beforeEach(() => {
  number += 1;
  service = `sample${number}`;
  directory = mkdtempSync(join(tmpdir(), 'migrations-'));
  return () => rmSync(directory, { recursive: true });
});

function write(name: string, text: string): void {
  writeFileSync(join(directory, name), text.replaceAll('SERVICE', service));
}

const run = (): Promise<string[]> => migrate({ url: database.url, service, directory });

test('applies pending migrations once, in order, in the schema of the service', async () => {
  write('0001_boats.sql', 'CREATE TABLE SERVICE.boats (id int PRIMARY KEY);');
  expect(await run()).toEqual(['0001_boats']);
  write('0002_names.sql', "ALTER TABLE SERVICE.boats ADD name text; INSERT INTO SERVICE.boats VALUES (1, 'Ada')");
  write('README.md', 'not a migration');
  expect(await run()).toEqual(['0002_names']);
  expect(await run()).toEqual([]);
  expect((await client.query(`SELECT name FROM ${service}.boats`)).rows).toEqual([{ name: 'Ada' }]);
});

test('of concurrent migrators one applies the migrations; the others wait and find none pending', async () => {
  write('0001_boats.sql', 'CREATE TABLE SERVICE.boats (id int); SELECT pg_sleep(0.1)');
  write('0002_row.sql', 'INSERT INTO SERVICE.boats VALUES (1)');
  const results = await Promise.all([run(), run(), run()]);
  expect(results.flat()).toEqual(['0001_boats', '0002_row']);
  expect(results.filter((applied) => applied.length === 0)).toHaveLength(2);
  expect((await client.query(`SELECT id FROM ${service}.boats`)).rows).toHaveLength(1);
});

test('a failing file is rolled back as a whole, reported with line and reason, and applied after it is corrected', async () => {
  write('0001_boats.sql', 'CREATE TABLE SERVICE.boats (id int);');
  write('0002_broken.sql', 'CREATE TABLE SERVICE.crews (id int);\nINSERT INTO SERVICE.nowhere VALUES (1);');
  await expect(run()).rejects.toThrow(
    `${directory}/0002_broken.sql:2 failed: relation "${service}.nowhere" does not exist`,
  );
  expect((await client.query(`SELECT to_regclass('${service}.crews') AS name`)).rows).toEqual([{ name: null }]);
  write('0002_broken.sql', 'CREATE TABLE SERVICE.crews (id int);');
  expect(await run()).toEqual(['0002_broken']);
});

test('a file that names no schema fails instead of changing another schema', async () => {
  write('0001_boats.sql', 'CREATE TABLE boats (id int);');
  await expect(run()).rejects.toThrow('no schema has been selected');
});

test('a file that sorts before an applied one is rejected', async () => {
  write('0002_boats.sql', 'CREATE TABLE SERVICE.boats (id int);');
  await run();
  write('0001_late.sql', 'CREATE TABLE SERVICE.late (id int);');
  await expect(run()).rejects.toThrow('Not run migration 0001_late is preceding already run migration 0002_boats');
});

test('a database with newer migrations than the files, as after a rollback of a release, is unchanged', async () => {
  write('0001_boats.sql', 'CREATE TABLE SERVICE.boats (id int);');
  write('0002_crews.sql', 'CREATE TABLE SERVICE.crews (id int);');
  await run();
  rmSync(join(directory, '0002_crews.sql'));
  expect(await run()).toEqual([]);
});

test('file names that would be ignored or ambiguous are rejected', async () => {
  write('1_boats.sql', 'SELECT 1');
  await expect(run()).rejects.toThrow('named like 0001_links.sql');
  rmSync(join(directory, '1_boats.sql'));
  write('0001_boats.sql', 'SELECT 1');
  write('0001_crews.sql', 'SELECT 1');
  await expect(run()).rejects.toThrow('there is already a migration 0001');
});

test('the newest migration is the last name, or undefined', async () => {
  expect(await newestMigration(directory)).toBeUndefined();
  write('0002_b.sql', '');
  write('0001_a.sql', '');
  expect(await newestMigration(directory)).toBe('0002_b');
});
