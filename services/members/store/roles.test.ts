import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/database.ts';
import { scansOf } from '#test/explain.ts';
import * as tasks from './role-tasks.ts';
import * as roles from './roles.ts';

const member = { guildId: '900000000000000001', chatId: '920000000000000500' };
const now = new Date('2026-01-01T00:00:00Z');
const later = new Date('2026-01-01T00:00:30Z');

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  // 100,000 members of a hundred guilds.
  const members = `SELECT (900000000000000001 + n % 100)::text, (920000000000000000 + n)::text`;
  const series = 'FROM generate_series(1, 100000) n';
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.grants (guild_id, chat_id, role_id, created_at) ${members}, '910000000000000001', now() ${series}`,
  );
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.member_locks (guild_id, chat_id, holder, held_until)
     ${members}, gen_random_uuid(), now() ${series}`,
  );
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at, due_at)
     ${members}, gen_random_uuid(), now(), now() ${series}`,
  );
  await databaseRows(testDatabase.url, 'ANALYZE members.role_tasks');
  await databaseRows(testDatabase.url, 'ANALYZE members.grants');
  await databaseRows(testDatabase.url, 'ANALYZE members.member_locks');
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const task = { ...member, version: randomUUID(), failures: 0 };

const statements: [string, (on: Queryable) => Promise<unknown>, string[]][] = [
  ['keepLock', (on) => roles.keepLock(on, member, randomUUID(), later), ['member_locks_pkey']],
  ['releaseLock', (on) => roles.releaseLock(on, member, randomUUID()), ['member_locks_pkey']],
  ['listGrants', (on) => roles.listGrants(on, member), ['grants_pkey']],
  ['deleteGrants', (on) => roles.deleteGrants(on, member, ['910000000000000001']), ['grants_pkey']],
  ['takeDueTasks', (on) => tasks.takeDueTasks(on, new Date(), later, 20), ['role_tasks_due', 'role_tasks_pkey']],
  ['keepTask', (on) => tasks.keepTask(on, task, later), ['role_tasks_pkey']],
  ['deleteTask', (on) => tasks.deleteTask(on, task), ['role_tasks_pkey']],
  ['postponeTask', (on) => tasks.postponeTask(on, task, later), ['role_tasks_pkey']],
];

test.each(statements)('%s finds its rows by an index', async (_name, statement, indexes) => {
  expect(await scansOf(database, statement)).toEqual(indexes);
});

test('a lock has one holder, until it is released or its time is over', async () => {
  const other = { ...member, chatId: '920000000000999999' };
  const [first, second] = [randomUUID(), randomUUID()];
  expect(await roles.takeLock(database, other, first, now, later)).toBe(true);
  expect(await roles.takeLock(database, other, second, now, later)).toBe(false);
  expect(await roles.keepLock(database, other, first, later)).toBe(true);
  expect(await roles.takeLock(database, other, second, later, later)).toBe(true);
  expect(await roles.keepLock(database, other, first, later)).toBe(false);
  await roles.releaseLock(database, other, first);
  expect(await roles.takeLock(database, other, first, now, later)).toBe(false);
  await roles.releaseLock(database, other, second);
  expect(await roles.takeLock(database, other, first, now, later)).toBe(true);
});

test('what is granted twice is granted once, and told in order', async () => {
  const other = { ...member, chatId: '920000000000999998' };
  await roles.insertGrants(database, other, ['910000000000000002', '910000000000000001'], now);
  await roles.insertGrants(database, other, ['910000000000000002'], now);
  expect(await roles.listGrants(database, other)).toEqual(['910000000000000001', '910000000000000002']);
  await roles.deleteGrants(database, other, ['910000000000000001']);
  expect(await roles.listGrants(database, other)).toEqual(['910000000000000002']);
});
