import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { queueAdminMethods } from '#kit/queue/admin.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { ROLE_TASKS } from './store/role-tasks.ts';

const GUILD = '900000000000000001';
const CHAT = '920000000000000001';

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

test('a role task that is a dead letter can be listed, retried with all of its attempts, and skipped', async () => {
  const log = await createLog({ service: 'test', level: 'silent' });
  let wakes = 0;
  const definitions = [{ name: 'role-tasks', table: ROLE_TASKS, ordered: false, leaseMs: 5_000 }];
  const admin = queueAdminMethods({ database, definitions, log, wake: () => wakes++ });
  const die = () =>
    database.query(`UPDATE members.role_tasks SET state = 'dead', attempts = 150, last_error = 'MISSING_PERMISSION'`);
  await database.query(
    `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at)
     VALUES ($1, $2, gen_random_uuid(), clock_timestamp())`,
    [GUILD, CHAT],
  );
  const list = (state: string) => admin.listQueueItems({ queue: 'role-tasks', state, limit: 10, position: '' });
  await die();
  expect((await list('dead')).items).toMatchObject([
    { queue: 'role-tasks', guildId: GUILD, id: CHAT, attempts: 150, lastError: 'MISSING_PERMISSION' },
  ]);
  await admin.retryQueueItems({ queue: 'role-tasks', guildId: GUILD });
  expect((await list('queued')).items).toMatchObject([{ id: CHAT, state: 'queued', attempts: 0 }]);
  await die();
  await admin.skipQueueItem({ queue: 'role-tasks', guildId: GUILD, id: CHAT });
  expect((await list('')).items).toEqual([]);
  expect(wakes).toBe(2);
});
