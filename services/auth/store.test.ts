import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Queryable } from '#kit/postgres.ts';
import { createTestDatabase, type TestDatabase } from '#test/database.ts';
import * as store from './store.ts';

const GUILDS = 10_000;
const KEYS_A_GUILD = 10;

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`
    INSERT INTO auth.guilds SELECT 900000000000000000 + g, ${KEYS_A_GUILD + 1} FROM generate_series(1, ${GUILDS}) AS g;
    INSERT INTO auth.keys (guild_id, number, name, ip_allowlist, created_at, version, changed_at)
      SELECT guild_id, n, '', '{}', now(), 1, now() - interval '1 hour'
      FROM auth.guilds, generate_series(1, ${KEYS_A_GUILD}) AS n;
    INSERT INTO auth.key_secrets (guild_id, hash, number, prefix)
      SELECT guild_id, sha256((guild_id || '-' || number)::bytea), number, '' FROM auth.keys;
    INSERT INTO auth.audit (guild_id, at, actor, action, number, details)
      SELECT guild_id, now(), '', 'create', number, '{}' FROM auth.keys;`);
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** The plans of every statement that `work` runs; what it changes is rolled back. */
async function plansOf(work: (database: Queryable) => Promise<unknown>): Promise<string> {
  const plans: string[] = [];
  const explaining: Queryable = {
    query: async (text, values) => {
      const plan = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values as unknown[]);
      plans.push(...plan.rows.map((row) => row['QUERY PLAN']));
      const result = await client.query(text, values as unknown[]);
      return result.rows;
    },
  };
  await client.query('BEGIN');
  await work(explaining);
  await client.query('ROLLBACK');
  return plans.join('\n');
}

const guild = (n: number) => String(900000000000000000n + BigInt(n));
const hashOf = (guildId: string, number: number) => createHash('sha256').update(`${guildId}-${number}`).digest();

const now = new Date();
const key = { guildId: guild(77), number: 3 };
const asked = Array.from({ length: 64 }, (_, index) => guild(1 + 97 * index));

test.each([
  ['freshly loaded', ''],
  ['analysed', 'ANALYZE auth.guilds, auth.keys, auth.key_secrets, auth.audit'],
])('no statement reads 100,000 keys through, %s', async (_, prepare) => {
  if (prepare) await client.query(prepare);
  const verify = await plansOf((db) =>
    store.verifyHashes(
      db,
      asked,
      asked.map((guildId) => hashOf(guildId, 5)),
      now,
    ),
  );
  expect(verify).toContain('Index Scan using key_secrets_pkey');
  expect(verify).toContain('Index Scan using keys_pkey');
  const statements: [string, (db: Queryable) => Promise<unknown>][] = [
    ['verify', async (db) => store.verifyHashes(db, [key.guildId], [hashOf(key.guildId, 3)], now)],
    [
      'recordUse',
      (db) =>
        store.recordUse(
          db,
          asked.map((guildId) => ({ guildId, number: 5, usedAt: now })),
          now,
        ),
    ],
    ['countActive', (db) => store.countActive(db, key.guildId, now)],
    ['selectKeys', (db) => store.selectKeys(db, key.guildId, now)],
    ['selectKey', (db) => store.selectKeys(db, key.guildId, now, [3])],
    ['selectChanges', (db) => store.selectChanges(db, key.guildId, [3])],
    ['recentChanges', (db) => store.selectChangesAfter(db, { ...key, changedAt: new Date(Date.now() - 15_000) }, 1000)],
    ['retireSecret', (db) => store.retireSecret(db, key, now, now)],
    ['deleteRetiredSecrets', (db) => store.deleteRetiredSecrets(db, key, now)],
    ['revokeKey', (db) => store.revokeKeys(db, key.guildId, 3, now)],
    ['revokeGuild', (db) => store.revokeKeys(db, key.guildId, null, now)],
    ['selectAudit', (db) => store.selectAudit(db, key.guildId, now, 1000)],
  ];
  const readThrough: string[] = [];
  for (const [name, run] of statements) if ((await plansOf(run)).includes('Seq Scan')) readThrough.push(name);
  expect(readThrough).toEqual([]);
});

test('64 of 100,000 keys are verified in one statement, each as what it is', async () => {
  const counted: Queryable & { count: number } = {
    count: 0,
    query: async (text, values) => {
      counted.count += 1;
      return (await client.query(text, values as unknown[])).rows;
    },
  };
  const hashes = asked.map((guildId) => hashOf(guildId, 5));
  const grants = await store.verifyHashes(counted, asked, hashes, now);
  expect(counted.count).toBe(1);
  expect(grants.map((grant) => [grant?.guildId, grant?.number])).toEqual(asked.map((guildId) => [guildId, 5]));
});
