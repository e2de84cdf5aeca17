import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import { deleteSignIn, insertSignIn } from './sign-ins.ts';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const signIn = (network: string, expiresAt = new Date()) => ({
  provider: 'chat',
  stateHash: randomBytes(32),
  browserHash: randomBytes(32),
  returnTo: '/',
  network,
  expiresAt,
});

test('concurrent sign-ins of one network never leave more than 20 rows, and other networkes keep theirs', async () => {
  const insert = (network: string) => database.transaction((transaction) => insertSignIn(transaction, signIn(network)));
  await insert('network 1');
  await Promise.all(Array.from({ length: 60 }, () => insert('network 2')));
  const rows = await database.query(
    'SELECT network, count(*)::int FROM auth.sign_ins GROUP BY network ORDER BY network',
  );
  expect(rows).toEqual([
    { network: 'network 1', count: 1 },
    { network: 'network 2', count: 20 },
  ]);
});

test('of 100,000 sign-ins one is found by its state, and those of a network by the network', async () => {
  await databaseRows(
    testDatabase.url,
    `INSERT INTO auth.sign_ins SELECT sha256(n::text::bytea), sha256(n::text::bytea), 'chat', '/', 'network ' || n / 10,
       now() + n * interval '6 milliseconds'
     FROM generate_series(1, 100000) AS n`,
  );
  await databaseRows(testDatabase.url, 'ANALYZE auth.sign_ins');
  const key = signIn('');
  expect(await scansOf(database, (on) => deleteSignIn(on, key, new Date()))).toEqual(['sign_ins_pkey']);
  const scans = await scansOf(database, (on) => insertSignIn(on, signIn('network 5000')));
  expect(new Set(scans)).toEqual(new Set(['sign_ins_network', 'sign_ins_pkey']));
});
