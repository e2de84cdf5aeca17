import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { readMembersConfig } from '../config.ts';
import { retentionRules } from '../service.ts';
import { listGrantsOf } from './roles.ts';
import * as jobs from './sync-jobs.ts';

const GUILD = '900000000000000001';
const now = new Date();
const LEASE_MS = 15_000;

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  // 50,000 jobs of a thousand guilds, a hundredth of which is not finished.
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, due_at, created_at, finished_at)
     SELECT (900000000000000001 + n % 1000)::text, gen_random_uuid(), n,
       CASE WHEN n % 100 = 0 THEN 'paused' ELSE 'done' END, 10, now(), now(),
       CASE WHEN n % 100 = 0 THEN NULL ELSE now() END
     FROM generate_series(1, 50000) n`,
  );
  await databaseRows(testDatabase.url, 'ANALYZE members.sync_jobs');
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const name = { guildId: GUILD, id: randomUUID() };
const holder = randomUUID();
const progress = { position: '1', done: 1, changed: 1, failed: 0, errors: undefined };
const cause = { chat_id: null, role_id: null, code: 'TIMEOUT', message: 'Too slow' };
const pause = { cause, waitMs: 5_000, giveUpSeconds: 3_600 };

test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
  ['findUnfinished', (on) => jobs.findUnfinished(on, GUILD, 7), ['sync_jobs_unfinished']],
  ['countUnfinished', (on) => jobs.countUnfinished(on, GUILD), ['sync_jobs_unfinished']],
  ['findJob', (on) => jobs.findJob(on, name), ['sync_jobs_pkey']],
  ['takeJob', (on) => jobs.takeJob(on, holder, LEASE_MS), ['sync_jobs_due', 'sync_jobs_running', 'sync_jobs_pkey']],
  ['keepJob', (on) => jobs.keepJob(on, name, holder, LEASE_MS), ['sync_jobs_pkey']],
  ['saveProgress', (on) => jobs.saveProgress(on, name, holder, progress, LEASE_MS), ['sync_jobs_pkey']],
  ['pauseJob', (on) => jobs.pauseJob(on, name, holder, pause), ['sync_jobs_pkey']],
  ['releaseJob', (on) => jobs.releaseJob(on, name, holder), ['sync_jobs_pkey']],
  ['finishJob', (on) => jobs.finishJob(on, name, holder), ['sync_jobs_pkey']],
  ['listGrantsOf', (on) => listGrantsOf(on, GUILD, ['1', '2'], ['3']), ['grants_pkey']],
])('on 50,000 jobs %s finds its rows by an index', async (_name, statement, indexes) => {
  expect(await scansOf(database, statement)).toEqual(indexes);
});

test('what is counted for the gauges is read past the finished jobs', async () => {
  const [scan, ...others] = await scansOf(database, jobs.unfinishedJobs);
  expect([others, ['sync_jobs_due', 'sync_jobs_unfinished']]).toEqual([[], expect.arrayContaining([scan])]);
});

/** A job of a guild of its own, taken by nobody, and due before all others. */
async function newJob(guildId: string, gameGroupId = 1): Promise<jobs.JobName> {
  const job = { guildId, id: randomUUID() };
  await jobs.insertJob(database, { ...job, gameGroupId, total: 5 });
  await database.query(`UPDATE members.sync_jobs SET due_at = 'epoch' WHERE id = $1`, [job.id]);
  return job;
}
/** The database's clock decides, however far off that of the process is. */
const take = (leaseMs = LEASE_MS) => jobs.takeJob(database, randomUUID(), leaseMs);
const remove = (...all: jobs.JobName[]) =>
  database.query('DELETE FROM members.sync_jobs WHERE id = ANY($1)', [all.map(({ id }) => id)]);
const endLease = ({ id }: jobs.JobName) =>
  database.query('UPDATE members.sync_jobs SET leased_until = clock_timestamp() WHERE id = $1', [id]);

test('a job is taken by one at a time, and by another once the lease has ended', async () => {
  const job = await newJob('910000000000000001');
  const first = await take();
  expect(first).toMatchObject({ ...job, state: 'running', position: '0' });
  expect((await take())?.id).not.toBe(job.id);
  await endLease(job);
  expect(await take()).toMatchObject({ ...job, startedAt: first?.startedAt });
  await remove(job);
});

test('of two that take at the same time one gets the job', async () => {
  const job = await newJob('910000000000000002');
  const taken = await Promise.all(Array.from({ length: 8 }, () => take()));
  expect(taken.filter((one) => one?.id === job.id)).toHaveLength(1);
  await remove(job);
});

test('of a guild whose job runs no other is taken, and other guilds do not wait for it', async () => {
  const guildId = '910000000000000003';
  const own = [await newJob(guildId, 1), await newJob(guildId, 2)];
  expect((await take())?.guildId).toBe(guildId);
  expect((await take())?.guildId).not.toBe(guildId);
  const other = await newJob('910000000000000004');
  expect((await take())?.id).toBe(other.id);
  await remove(...own, other);
});

test('two processes that take jobs of one guild at the same moment never run two of them', async () => {
  const guildId = '910000000000000007';
  const processes = await Promise.all(Array.from({ length: 4 }, () => openTestPool(testDatabase.url)));
  for (let round = 0; round < 15; round++) {
    const own = await Promise.all([1, 2, 3, 4].map((group) => newJob(guildId, group)));
    const taken = await Promise.all(processes.map((one) => jobs.takeJob(one, randomUUID(), LEASE_MS)));
    expect(taken.filter((job) => job?.guildId === guildId)).toHaveLength(1);
    await remove(...own);
  }
  await Promise.all(processes.map((one) => one.close()));
}, 60_000);

test('the database rejects a second running job of a guild, whoever starts it', async () => {
  const guildId = '910000000000000008';
  const own = [await newJob(guildId, 1), await newJob(guildId, 2)];
  await take();
  const start = database.query('UPDATE members.sync_jobs SET holder = gen_random_uuid() WHERE guild_id = $1', [
    guildId,
  ]);
  await expect(start).rejects.toMatchObject({ constraint: 'sync_jobs_running' });
  await remove(...own);
});

test('a job whose process died keeps its guild to itself until it is taken over', async () => {
  const guildId = '910000000000000009';
  const [first, second] = [await newJob(guildId, 1), await newJob(guildId, 2)];
  const running = await take();
  await endLease({ guildId, id: running?.id ?? '' });
  expect((await take())?.id).toBe(running?.id);
  await remove(first, second);
});

test('who has lost a job can neither save, pause, release nor finish it', async () => {
  const job = await newJob('910000000000000005');
  await take();
  const stranger = randomUUID();
  expect(await jobs.saveProgress(database, job, stranger, progress, LEASE_MS)).toBe(false);
  expect(await jobs.keepJob(database, job, stranger, LEASE_MS)).toBe(false);
  expect(await jobs.finishJob(database, job, stranger)).toBe(false);
  expect(await jobs.pauseJob(database, job, stranger, pause)).toBeUndefined();
  await jobs.releaseJob(database, job, stranger);
  expect(await jobs.findJob(database, job)).toMatchObject({ state: 'running', done: 0, attempts: 0, cause: null });
  await remove(job);
});

test('the age of a job counts from its last progress', async () => {
  const job = await newJob('910000000000000010');
  const holder = randomUUID();
  await jobs.takeJob(database, holder, LEASE_MS);
  await database.query(
    `UPDATE members.sync_jobs SET created_at = 'epoch', started_at = 'epoch', progressed_at = 'epoch' WHERE id = $1`,
    [job.id],
  );
  expect(await jobs.saveProgress(database, job, holder, progress, LEASE_MS)).toBe(true);
  expect(await jobs.pauseJob(database, job, holder, pause)).toBe('paused');
  await remove(job);
});

test('a job without progress for so long has failed, and what it has done is kept', async () => {
  const job = await newJob('910000000000000011');
  const holder = randomUUID();
  await jobs.takeJob(database, holder, LEASE_MS);
  await jobs.saveProgress(database, job, holder, progress, LEASE_MS);
  await database.query(
    `UPDATE members.sync_jobs SET progressed_at = clock_timestamp() - interval '2 h' WHERE id = $1`,
    [job.id],
  );
  // Saved anew where it was: no progress.
  await jobs.saveProgress(database, job, holder, progress, LEASE_MS);
  expect(await jobs.pauseJob(database, job, holder, pause)).toBe('failed');
  expect(await jobs.findJob(database, job)).toMatchObject({ state: 'failed', position: '1', done: 1, cause });
  await remove(job);
});

test('a group has one unfinished job in a guild, whoever inserts it', async () => {
  const job = await newJob('910000000000000006');
  await expect(newJob(job.guildId)).rejects.toMatchObject({ constraint: 'sync_jobs_unfinished' });
  await remove(job);
});

test('jobs go 30 days after their end, and unfinished ones never', async () => {
  const clock = new ManualClock(now.getTime());
  const config = readMembersConfig({
    ...testEnvironment(testDatabase.url),
    LOOKUP_GRPC_ADDRESS: 'localhost:1',
    BINDINGS_GRPC_ADDRESS: 'localhost:1',
    CHAT_BOT_TOKEN: 'token',
  });
  const log = await createLog({ service: 'test', level: 'silent' });
  const retention = new Retention({ database, rules: retentionRules(config), clock, log });
  const count = async () => (await database.query('SELECT 1 FROM members.sync_jobs')).length;
  clock.advance(29 * 24 * 3600_000);
  await retention.sweep();
  expect(await count()).toBe(50_000);
  clock.advance(2 * 24 * 3600_000);
  await retention.sweep();
  expect(await count()).toBe(500);
});
