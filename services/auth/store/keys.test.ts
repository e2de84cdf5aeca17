import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { countGenericPlanRuns, nodesOf, scansOf } from '#test/postgres/explain.ts';
import * as audit from './audit.ts';
import { addPersonChange, findSecret, selectGuilds, setSuspended } from './guilds.ts';
import { recordUse } from './key-uses.ts';
import * as store from './keys.ts';

const GUILDS = 10_000;
const KEYS_A_GUILD = 10;

let testDatabase: TestDatabase;
let database: Database;

/** Inserts a number of guilds with ten keys each. */
async function fill(into: TestDatabase, guilds: number): Promise<void> {
  await databaseRows(
    into.url,
    `
    INSERT INTO auth.guilds SELECT 900000000000000000 + g, ${KEYS_A_GUILD + 1} FROM generate_series(1, ${guilds}) AS g;
    INSERT INTO auth.keys (guild_id, number, name, ip_allowlist, created_at, version, changed_at)
      SELECT guild_id, n, '', '{}', now(), 1, now() - interval '1 hour'
      FROM auth.guilds, generate_series(1, ${KEYS_A_GUILD}) AS n;
    INSERT INTO auth.key_secrets (guild_id, hash, number, prefix)
      SELECT guild_id, sha256((guild_id || '-' || number)::bytea), number, '' FROM auth.keys;
    INSERT INTO auth.audit (guild_id, at, actor, action, number, details)
      SELECT guild_id, now(), '', 'create', number, '{}' FROM auth.keys;`,
  );
}

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  await fill(testDatabase, GUILDS);
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const guild = (n: number) => String(900000000000000000n + BigInt(n));
const hashOf = (guildId: string, number: number) => createHash('sha256').update(`${guildId}-${number}`).digest();

const now = new Date();
const key = { guildId: guild(77), number: 3 };
const requested = Array.from({ length: 64 }, (_, index) => guild(1 + 97 * index));
const hashes = requested.map((guildId) => hashOf(guildId, 5));
const unfiltered = { expiresBefore: null, unusedSince: null };
const entry = { at: now, actor: 'ada', action: 'update', service: 'auth', method: '', details: {} };
const verify = (on: Queryable) => store.verifyHashes(on, requested, hashes, now);

test.each([
  ['freshly loaded', ''],
  ['analysed', 'ANALYZE auth.guilds, auth.keys, auth.key_secrets, auth.audit'],
])('no statement scans the table of 100,000 keys, %s', async (_, prepare) => {
  if (prepare) await databaseRows(testDatabase.url, prepare);
  expect(await scansOf(database, verify)).toEqual(['key_secrets_pkey', 'keys_pkey', 'guilds_pkey']);
  const statements: [string, (db: Queryable) => Promise<unknown>][] = [
    [
      'recordUse',
      (db) =>
        recordUse(
          db,
          requested.map((guildId) => ({ guildId, number: 5, usedAt: now })),
          now,
        ),
    ],
    ['countActive', (db) => store.countActive(db, key.guildId, now)],
    ['countRotated', (db) => store.countRotated(db, key, now)],
    ['selectKeyPage', (db) => store.selectKeyPage(db, key.guildId, now, { ...key, isRevoked: false }, 1000)],
    ['selectGuilds', (db) => selectGuilds(db, key.guildId, now, 100)],
    ['setSuspended', (db) => setSuspended(db, key.guildId, now, now)],
    ['addPersonChange', (db) => addPersonChange(db, key.guildId, now, 5)],
    ['findSecret', (db) => findSecret(db, key.guildId, hashOf(key.guildId, 3))],
    ['appendEntries', (db) => audit.appendEntries(db, key.guildId, [3], entry)],
    ['selectEntries', (db) => audit.selectEntries(db, key.guildId, { since: now, before: 5, limit: 1000 })],
    ['selectLinks', (db) => audit.selectLinks(db, key.guildId, 0, 1000)],
    ['selectHead', (db) => audit.selectHead(db, key.guildId)],
    ['selectHeads', (db) => audit.selectHeads(db, key.guildId, 500)],
    ['selectCheckpoints', (db) => audit.selectCheckpoints(db, key.guildId, { after: 0, to: 5 })],
    ['selectNewestCheckpoints', (db) => audit.selectNewestCheckpoints(db, key.guildId)],
    ['selectCheckpointsWithout', (db) => audit.selectCheckpointsWithout(db, key.guildId, 'x')],
    ['selectPrunable', (db) => audit.selectPrunable(db, key.guildId, now, 1000)],
    ['selectKey', (db) => store.selectKeys(db, key.guildId, now, [3])],
    ['selectChanges', (db) => store.selectChanges(db, key.guildId, [3])],
    ['recentChanges', (db) => store.selectChangesAfter(db, { ...key, changedAt: new Date(Date.now() - 15_000) }, 1000)],
    ['retireSecret', (db) => store.retireSecret(db, key, now, now)],
    ['deleteRetiredSecrets', (db) => store.deleteRetiredSecrets(db, key, now)],
    ['revokeKey', (db) => store.revokeKeys(db, key.guildId, 3, now)],
    ['revokeGuild', (db) => store.revokeKeys(db, key.guildId, null, now)],
  ];
  // Without statistics the planner assumes that every table is small.
  if (prepare)
    statements.push([
      'selectFilteredKeys',
      (db) => store.selectFilteredKeys(db, { guildId: null, ...unfiltered }, now, key, 1000),
    ]);
  const scanning: string[] = [];
  for (const [name, run] of statements) if ((await nodesOf(database, run)).includes('Seq Scan')) scanning.push(name);
  expect(scanning).toEqual([]);
});

test('the plan of a verification is cached', async () => {
  expect(await countGenericPlanRuns(database, verify)).toBe(5);
});

test('verification uses the indexes even if there are few keys', async () => {
  const few = await createTestDatabase();
  await fill(few, 400);
  const pool = await openTestPool(few.url);
  expect(await scansOf(pool, verify)).toEqual(['key_secrets_pkey', 'keys_pkey', 'guilds_pkey']);
  await pool.close();
  await few.drop();
});

test('64 of 100,000 keys are verified in one statement, and each grant belongs to its hash', async () => {
  const counted: Queryable & { count: number } = {
    count: 0,
    query: (...statement) => {
      counted.count += 1;
      return database.query(...statement);
    },
  };
  const grants = await verify(counted);
  expect(counted.count).toBe(1);
  expect(grants).toMatchObject(requested.map((guildId) => ({ guildId, number: 5 })));
});
