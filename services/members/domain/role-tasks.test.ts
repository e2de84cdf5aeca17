import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { currentPurpose } from '#kit/context.ts';
import { ApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ItemKey } from '#kit/queue/definition.ts';
import { QueueWorker } from '#kit/queue/worker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import type { RoleTask } from '../store/role-tasks.ts';
import type { MemberName } from '../store/roles.ts';
import { RoleTaskTelemetry } from '../telemetry/tasks.ts';
import { ROLE_TASK_QUEUE, RoleTasks } from './role-tasks.ts';

const BUSY = '900000000000000001';
const QUIET = '900000000000000002';
const MAX_RUNNING = 8;
const MAX_RUNNING_PER_GUILD = 2;

let testDatabase: TestDatabase;
let database: Database;
let time: DatabaseTime;
let workers: QueueWorker[] = [];
/** Synchronises a member. */
let follow: (member: MemberName) => Promise<void>;
let running: MemberName[] = [];
let maxRunning = 0;
let maxOfGuild = 0;
let done: MemberName[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  time = await DatabaseTime.control(testDatabase.url);
  database = await openTestPool(testDatabase.url);
});
beforeEach(() => {
  [running, done, maxRunning, maxOfGuild] = [[], [], 0, 0];
  follow = async () => undefined;
});
afterEach(async () => {
  follow = async () => undefined;
  await Promise.all(workers.map((worker) => worker.drain()));
  workers = [];
  await database.query('TRUNCATE members.role_tasks');
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Starts the worker of one process. */
async function startTasks(): Promise<RoleTasks> {
  const metrics = new Metrics();
  const log = pino({ level: 'silent' });
  const roles = {
    async follow(member: MemberName): Promise<undefined> {
      running.push(member);
      maxRunning = Math.max(maxRunning, running.length);
      maxOfGuild = Math.max(maxOfGuild, running.filter(({ guildId }) => guildId === member.guildId).length);
      try {
        await follow(member);
        done.push(member);
      } finally {
        running = running.filter((other) => other !== member);
      }
    },
  };
  const telemetry = new RoleTaskTelemetry(metrics, log);
  const begin = (item: ItemKey) => worker.begin(ROLE_TASK_QUEUE, item);
  const nicknames = { follow: async () => undefined };
  const wake = () => worker.wake(ROLE_TASK_QUEUE);
  const tasks = new RoleTasks({ roles, nicknames, newId: randomUUID, telemetry, begin, wake });
  const limits = { maxAttempts: 12, maxOutageSeconds: 86_400 };
  const worker = new QueueWorker([tasks.definition], { database, limits, metrics, log });
  workers.push(worker);
  await worker.start();
  return tasks;
}

/** Queues the role task of a member whose link was created. */
async function linked(tasks: RoleTasks, member: MemberName): Promise<RoleTask> {
  const task = await tasks.queue(database, { ...member, gameId: 7001 }, 'link');
  if (!task) throw new Error('the guild does not synchronise roles after a link');
  return task;
}

const chatId = (number: number) => String(920000000000000000n + BigInt(number));
const count = async () => (await database.query('SELECT 1 FROM members.role_tasks')).length;
const row = async () => (await database.query('SELECT * FROM members.role_tasks'))[0] ?? {};

test('many tasks of one guild run two at a time, and another guild does not wait for them', async () => {
  const tasks = await startTasks();
  const gate = Promise.withResolvers<void>();
  follow = ({ guildId }) => (guildId === BUSY ? gate.promise : Promise.resolve());
  for (let number = 1; number <= 60; number++) {
    tasks.begin(await linked(tasks, { guildId: BUSY, chatId: chatId(number) }));
  }
  await expect.poll(() => running.length).toBe(MAX_RUNNING_PER_GUILD);
  tasks.begin(await linked(tasks, { guildId: QUIET, chatId: chatId(1) }));
  await expect.poll(() => done.map(({ guildId }) => guildId)).toEqual([QUIET]);
  expect(maxOfGuild).toBe(MAX_RUNNING_PER_GUILD);
  gate.resolve();
  await expect.poll(count).toBe(0);
  expect(done).toHaveLength(61);
  expect(maxOfGuild).toBe(MAX_RUNNING_PER_GUILD);
}, 60_000);

test('a process runs at most eight tasks at a time, of any number of guilds', async () => {
  const tasks = await startTasks();
  const gate = Promise.withResolvers<void>();
  follow = () => gate.promise;
  for (let number = 1; number <= 30; number++) {
    tasks.begin(await linked(tasks, { guildId: String(900000000000000100n + BigInt(number)), chatId: chatId(1) }));
  }
  await expect.poll(() => running.length).toBe(MAX_RUNNING);
  gate.resolve();
  await expect.poll(count).toBe(0);
  expect(maxRunning).toBe(MAX_RUNNING);
}, 60_000);

test('tasks run with the purpose background, also those that a request begins', async () => {
  const purposes: string[] = [];
  follow = async () => void purposes.push(currentPurpose());
  const tasks = await startTasks();
  const task = await linked(tasks, { guildId: QUIET, chatId: chatId(1) });
  tasks.begin(task);
  await tasks.attempted(task, 10_000);
  expect(purposes).toEqual(['background']);
});

test('waiting tasks are not written to, and renewing a lease is a HOT update', async () => {
  const updates = async () => {
    await database.query('SELECT pg_stat_force_next_flush()');
    const [stats] = await database.query<{ all: number; hot: number }>(
      `SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables
       WHERE schemaname = 'members' AND relname = 'role_tasks'`,
    );
    return stats ?? { all: 0, hot: 0 };
  };
  const tasks = await startTasks();
  const gate = Promise.withResolvers<void>();
  follow = () => gate.promise;
  for (let number = 1; number <= 40; number++) {
    tasks.begin(await linked(tasks, { guildId: BUSY, chatId: chatId(number) }));
  }
  await expect.poll(() => running.length).toBe(MAX_RUNNING_PER_GUILD);
  const before = await updates();
  // The lease of each of the two that run is renewed every few seconds.
  await expect.poll(async () => (await updates()).all - before.all, { timeout: 30_000 }).toBeGreaterThan(5);
  const after = await updates();
  expect(after.hot - before.hot).toBe(after.all - before.all);
  const waiting = await database.query('SELECT 1 FROM members.role_tasks WHERE leased_until IS NULL AND attempts = 0');
  expect(waiting).toHaveLength(38);
  gate.resolve();
  await expect.poll(count, { timeout: 30_000 }).toBe(0);
}, 90_000);

test('a failing task is retried with growing delays, and finally becomes a dead letter', async () => {
  follow = async () => {
    throw new ApiError('PLATFORM_ERROR', { message: 'The chat platform rejects the bot' });
  };
  const tasks = await startTasks();
  tasks.begin(await linked(tasks, { guildId: QUIET, chatId: chatId(1) }));
  const idle = { leased_until: null, state: 'queued' };
  const error = 'PLATFORM_ERROR: The chat platform rejects the bot';
  await expect.poll(row).toMatchObject({ ...idle, attempts: 1, last_error: error });
  await time.advance(1_000);
  await expect.poll(row).toMatchObject({ ...idle, attempts: 2 });
  // The second delay is longer.
  const [wait] = await database.query<{ seconds: number }>(
    'SELECT extract(epoch FROM run_at - clock_timestamp())::float8 AS seconds FROM members.role_tasks',
  );
  expect(wait?.seconds).toBeGreaterThan(0.5);
  await database.query('UPDATE members.role_tasks SET attempts = 149, run_at = clock_timestamp()');
  await expect.poll(async () => (await row())['state']).toBe('dead');
  await time.advance(3_600_000);
  for (const worker of workers) worker.wake();
  expect(await row()).toMatchObject({ state: 'dead', attempts: 150 });
  // A new link queues a new task for the member.
  follow = async () => undefined;
  tasks.begin(await linked(tasks, { guildId: QUIET, chatId: chatId(1) }));
  await expect.poll(count).toBe(0);
}, 60_000);

test('the task of a process that died is taken over when its lease has ended by the database’s clock', async () => {
  const tasks = await startTasks();
  await database.query(
    `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at, holder, leased_until)
     VALUES ($1, $2, gen_random_uuid(), now(), gen_random_uuid(), clock_timestamp() + interval '1 h')`,
    [QUIET, chatId(1)],
  );
  // A later task of the guild shows that the worker has looked for due tasks.
  tasks.begin(await linked(tasks, { guildId: QUIET, chatId: chatId(2) }));
  await expect.poll(count).toBe(1);
  expect(done).toHaveLength(1);
  await time.advance(3_600_000);
  await expect.poll(count).toBe(0);
}, 30_000);
