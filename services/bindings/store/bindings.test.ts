import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { readBindingsConfig } from '../config.ts';
import type { Binding } from '../domain/binding.ts';
import { retentionRules } from '../service.ts';
import * as store from './bindings.ts';

const GUILD = '900000000000000007';
const now = new Date();

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  // 100,000 bindings: 400 guilds with 250 each, of 50 roles.
  await databaseRows(
    testDatabase.url,
    `INSERT INTO bindings.bindings
       (guild_id, chat_role_id, type, game_group_id, min_rank, max_rank, priority, created_at, updated_at)
     SELECT (900000000000000000 + n % 400)::text, (910000000000000000 + n / 400 % 50)::text, 'group_rank', n, 1, 255,
       CASE WHEN n % 3 > 0 THEN n % 100 END, now(), now()
     FROM generate_series(1, 100000) n`,
  );
  await databaseRows(testDatabase.url, 'ANALYZE bindings.bindings');
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const binding: Binding = {
  id: 5,
  chatRoleId: '910000000000000001',
  type: 'group_rank',
  gameGroupId: 501,
  minRank: 1,
  maxRank: 2,
  gamepassId: null,
  assetId: null,
  badgeId: null,
  accountAgePlatform: null,
  accountAgeMinDays: null,
  priority: null,
  conditions: [],
  authority: null,
  nicknameTemplate: null,
};

test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
  ['listBindings', (on) => store.listBindings(on, GUILD, 500), ['bindings_listed']],
  [
    'listBindingsOfRoles',
    (on) => store.listBindingsOfRoles(on, GUILD, ['910000000000000001', '910000000000000002'], 500),
    ['bindings_identical'],
  ],
  ['findBinding', (on) => store.findBinding(on, GUILD, 5), ['bindings_pkey']],
  ['lockBinding', (on) => store.lockBinding(on, GUILD, 5), ['bindings_pkey']],
  ['countBindings', (on) => store.countBindings(on, GUILD), [expect.stringMatching('^bindings_(pkey|listed)$')]],
  ['insertBinding', (on) => store.insertBinding(on, GUILD, binding, now), ['bindings_pkey']],
  ['updateBinding', (on) => store.updateBinding(on, GUILD, binding, now), ['bindings_pkey']],
  ['deleteBinding', (on) => store.deleteBinding(on, GUILD, 5), ['bindings_pkey']],
])('on 100,000 bindings %s uses only its indexes', async (_name, statement, indexes) => {
  expect(await scansOf(database, statement)).toEqual(indexes);
});

test.each([
  ['a group_rank without a group', { gameGroupId: null }],
  ['a group_rank with a badge', { badgeId: 1 }],
  ['a max_rank below min_rank', { minRank: 3 }],
  ['a rank beyond 255', { maxRank: 256 }],
  ['a gamepass that names a badge', { type: 'gamepass', gameGroupId: null, minRank: null, maxRank: null, badgeId: 1 }],
  ['an unknown type', { type: 'other', gameGroupId: null, minRank: null, maxRank: null, badgeId: 1 }],
])('the table rejects %s', async (_what, wrong) => {
  const insert = store.insertBinding(database, GUILD, { ...binding, ...(wrong as Partial<Binding>) }, now);
  await expect(insert).rejects.toMatchObject({ code: '23514' });
});

test('stored responses are deleted after a day; bindings are not', async () => {
  await database.query(
    `INSERT INTO bindings.idempotency (guild_id, method, path, key, body_hash, created_at)
     VALUES ($1, 'POST', '/', 'key', '', $2)`,
    [GUILD, now],
  );
  const environment = { LOOKUP_GRPC_ADDRESS: 'lookup:1', CHAT_BOT_TOKEN: 'token' };
  const config = readBindingsConfig({ ...testEnvironment(testDatabase.url), ...environment });
  const clock = new ManualClock(now.getTime() + 24 * 3600_000);
  const log = await createLog({ service: 'test', level: 'silent' });
  const retention = new Retention({ database, rules: retentionRules(config), clock, log });
  const count = async (table: string) => (await database.query(`SELECT 1 FROM bindings.${table}`)).length;
  await retention.sweep();
  expect(await count('idempotency')).toBe(1);
  clock.advance(1);
  await retention.sweep();
  expect(await Promise.all(['idempotency', 'bindings'].map(count))).toEqual([0, 100_000]);
});
