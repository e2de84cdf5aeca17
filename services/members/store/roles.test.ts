import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { QueueStore } from '#kit/queue/store.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import * as changes from './role-changes.ts';
import { ROLE_TASKS } from './role-tasks.ts';
import * as roles from './roles.ts';

const member = { guildId: '900000000000000001', chatId: '920000000000000500' };
const now = new Date('2026-01-01T00:00:00Z');
const LEASE_MS = 30_000;

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
    `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at)
     ${members}, gen_random_uuid(), now() ${series}`,
  );
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.role_changes (guild_id, chat_id, added, removed, run_at)
     ${members}, '{}'::text[], '{}'::text[], now() ${series}`,
  );
  await databaseRows(testDatabase.url, 'ANALYZE members.role_tasks');
  await databaseRows(testDatabase.url, 'ANALYZE members.role_changes');
  await databaseRows(testDatabase.url, 'ANALYZE members.grants');
  await databaseRows(testDatabase.url, 'ANALYZE members.member_locks');
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const task = { guildId: member.guildId, id: member.chatId, attempts: 1, lease: randomUUID(), data: {} };
const failure = {
  error: 'TIMEOUT',
  isPermanent: false,
  counts: true,
  delayMs: 1_000,
  maxAttempts: 3,
  maxOutageSeconds: null,
};
const tasks = (on: Queryable) => new QueueStore(on, ROLE_TASKS);
const begun = (on: Queryable) => new QueueStore(on, changes.ROLE_CHANGES);
const statements: [string, (on: Queryable) => Promise<unknown>, string[]][] = [
  ['renewLock', (on) => roles.renewLock(on, member, randomUUID(), LEASE_MS), ['member_locks_pkey']],
  ['releaseLock', (on) => roles.releaseLock(on, member, randomUUID()), ['member_locks_pkey']],
  ['listGrants', (on) => roles.listGrants(on, member), ['grants_pkey']],
  ['deleteGrants', (on) => roles.deleteGrants(on, member, ['910000000000000001']), ['grants_pkey']],
  ['findBegun', (on) => changes.findBegun(on, member), ['role_changes_pkey']],
  ['listBegun', (on) => changes.listBegun(on, member.guildId, [member.chatId]), ['role_changes_pkey']],
  ['endChanges', (on) => changes.endChanges(on, member), ['role_changes_pkey']],
  ['due changes', (on) => begun(on).due('', 100, 2), ['role_changes_due', 'role_changes_due', 'role_changes_due']],
  ['take of a task', (on) => tasks(on).take(member.guildId, member.chatId, LEASE_MS), ['role_tasks_pkey']],
  ['due tasks', (on) => tasks(on).due('', 100, 2), ['role_tasks_run', 'role_tasks_run', 'role_tasks_run']],
  ['renew', (on) => tasks(on).renew(task, LEASE_MS), ['role_tasks_pkey']],
  ['delete', (on) => tasks(on).delete(task), ['role_tasks_pkey']],
  ['fail', (on) => tasks(on).fail(task, failure), ['role_tasks_pkey']],
];

test.each(statements)('%s finds its rows by an index', async (_name, statement, indexes) => {
  expect(await scansOf(database, statement)).toEqual(indexes);
});

test('a lock has one holder until it is released or its lease ends', async () => {
  const other = { ...member, chatId: '920000000000999999' };
  const [first, second] = [randomUUID(), randomUUID()];
  expect(await roles.acquireLock(database, other, first, LEASE_MS)).toBe(true);
  expect(await roles.acquireLock(database, other, second, LEASE_MS)).toBe(false);
  expect(await roles.renewLock(database, other, first, LEASE_MS)).toBe(true);
  await database.query('UPDATE members.member_locks SET held_until = clock_timestamp() WHERE chat_id = $1', [
    other.chatId,
  ]);
  expect(await roles.acquireLock(database, other, second, LEASE_MS)).toBe(true);
  expect(await roles.renewLock(database, other, first, LEASE_MS)).toBe(false);
  await roles.releaseLock(database, other, first);
  expect(await roles.acquireLock(database, other, first, LEASE_MS)).toBe(false);
  await roles.releaseLock(database, other, second);
  expect(await roles.acquireLock(database, other, first, LEASE_MS)).toBe(true);
});

test('a role that is granted twice is stored once, and grants are listed in order', async () => {
  const other = { ...member, chatId: '920000000000999998' };
  const begin = (granted: string[]) =>
    changes.beginChanges(database, other, { added: granted, removed: [], granted, source: null }, now);
  await begin(['910000000000000002', '910000000000000001']);
  await begin(['910000000000000002']);
  expect(await roles.listGrants(database, other)).toEqual(['910000000000000001', '910000000000000002']);
  await roles.deleteGrants(database, other, ['910000000000000001']);
  expect(await roles.listGrants(database, other)).toEqual(['910000000000000002']);
});
