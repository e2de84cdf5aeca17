import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { countGenericPlanRuns, scansOf } from '#test/postgres/explain.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { readLookupConfig } from '../config.ts';
import { retentionRules } from '../service.ts';
import * as store from './links.ts';

const GUILD = '900000000000000001';
const CHAT = '920000000000000500';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  // 100,000 links in three guilds; nearly all are in one of them.
  await databaseRows(
    testDatabase.url,
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     SELECT CASE WHEN n % 100 > 1 THEN '900000000000000001' ELSE '90000000000000000' || (n % 100 + 2) END,
       (920000000000000000 + n)::text, n, 'User' || n, n, now(), now() - n * interval '1 second'
     FROM generate_series(1, 100000) n`,
  );
  await databaseRows(
    testDatabase.url,
    `INSERT INTO lookup.link_history
       (guild_id, id, operation_id, action, chat_id, game_id, game_username, version, created_at)
     SELECT guild_id, version, gen_random_uuid(), 'linked', chat_id, game_id, game_username, version, linked_at
     FROM lookup.links`,
  );
  await databaseRows(
    testDatabase.url,
    `INSERT INTO lookup.operations SELECT guild_id, operation_id, created_at FROM lookup.link_history`,
  );
  // Rows of many more guilds.
  await databaseRows(
    testDatabase.url,
    `INSERT INTO lookup.link_counts SELECT (800000000000000000 + n)::text, n, 1 FROM generate_series(1, 20000) n`,
  );
  for (const table of ['links', 'link_history', 'operations', 'link_counts'])
    await databaseRows(testDatabase.url, `ANALYZE lookup.${table}`);
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const page = Array.from({ length: 25 }, (_, index) => index + 1);
const link = { chatId: CHAT, gameId: 500, gameUsername: 'User' };

test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
  ['findLinks', (on) => store.findLinks(on, [{ guildId: GUILD, gameIds: page }]), ['links_chat', 'links_game']],
  [
    'listLinks',
    (on) => store.listLinks(on, GUILD, { updatedAt: 1, chatId: CHAT }, { limit: 100, withUnlinked: true }),
    ['links_updated', 'link_history_unlinked', 'links_game'],
  ],
  ['countLinks', (on) => store.countLinks(on, '900000000000000002'), ['link_counts_pkey']],
  ['listChanges', (on) => store.listChanges(on, GUILD, CHAT, 100), ['link_history_chat', 'links_chat']],
  ['insertLink', (on) => store.insertLink(on, GUILD, randomUUID(), link), []],
  ['deleteLink by chat', (on) => store.deleteLink(on, GUILD, randomUUID(), { chatId: CHAT }), ['links_chat']],
  ['deleteLink by game', (on) => store.deleteLink(on, GUILD, randomUUID(), { gameId: 5 }), ['links_game']],
  ['findOutcome', (on) => store.findOutcome(on, GUILD, randomUUID(), 'linked'), ['link_history_operation']],
])('on 100,000 links %s uses only its indexes', async (_name, statement, indexes) => {
  expect(await scansOf(database, statement)).toEqual(indexes);
});

test('findLinks has a generic plan, for one user of the largest guild and for a page', async () => {
  expect(await countGenericPlanRuns(database, (on) => store.findLinks(on, [{ guildId: GUILD, gameIds: [1] }]))).toBe(5);
  expect(await countGenericPlanRuns(database, (on) => store.findLinks(on, [{ guildId: GUILD, gameIds: page }]))).toBe(
    10,
  );
});

test('operations are deleted after a week, and links and their history are not', async () => {
  const clock = new ManualClock(Date.now());
  const config = readLookupConfig(testEnvironment(testDatabase.url));
  const log = await createLog({ service: 'test', level: 'silent' });
  const retention = new Retention({ database, rules: retentionRules(config), clock, log });
  const count = async (table: string) => (await database.query(`SELECT 1 FROM lookup.${table}`)).length;
  clock.advance(7 * 24 * 3600_000 - 60_000);
  await retention.sweep();
  expect(await count('operations')).toBe(100_000);
  clock.advance(120_000);
  await retention.sweep();
  expect(await Promise.all(['operations', 'links', 'link_history'].map(count))).toEqual([0, 100_000, 100_000]);
});
