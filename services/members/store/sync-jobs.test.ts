import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { type Database, isUniqueViolation, type Queryable } from '#kit/postgres/pool.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { QueueStore } from '#kit/queue/store.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { readMembersConfig } from '../config.ts';
import { retentionRules } from '../retention.ts';
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
const queue = (on: Queryable) => new QueueStore(on, jobs.SYNC_JOBS);
const progress = { position: '1', done: 1, changed: 1, failed: 0, errors: undefined };
const cause = { chat_id: null, role_id: null, code: 'TIMEOUT', message: 'Too slow' };
const failure = {
  error: 'TIMEOUT: Too slow',
  isPermanent: false,
  counts: true,
  delayMs: 5_000,
  maxAttempts: null,
  maxOutageSeconds: 3_600,
};
const item = itemOf(name);

/** Indexes that begin with the guild; those of unfinished jobs have few rows of it. */
const GUILD_INDEX = /^(sync_jobs_(pkey|unfinished|running|guild_due)|grants_pkey)$/;

test.each<[string, (on: Queryable) => Promise<unknown>]>([
  ['findUnfinished', (on) => jobs.findUnfinished(on, GUILD, 7)],
  ['countUnfinished', (on) => jobs.countUnfinished(on, GUILD)],
  ['findJob', (on) => jobs.findJob(on, name)],
  ['take', (on) => queue(on).take(GUILD, name.id, LEASE_MS)],
  ['renew', (on) => queue(on).renew(item, LEASE_MS)],
  ['startJob', (on) => jobs.startJob(on, item)],
  ['saveProgress', (on) => jobs.saveProgress(on, item, progress)],
  ['fail', (on) => queue(on).fail(item, failure)],
  ['endAttempt', (on) => jobs.endAttempt(on, name, 'paused', cause)],
  ['release', (on) => queue(on).release(item)],
  ['finish', (on) => queue(on).finish(item)],
  ['completeJob', (on) => jobs.completeJob(on, name)],
  ['listGrantsOf', (on) => listGrantsOf(on, GUILD, ['1', '2'], ['3'])],
])('on 50,000 jobs %s finds its rows by an index', async (_name, statement) => {
  const scans = await scansOf(database, statement);
  expect(scans.length).toBeGreaterThan(0);
  expect(scans.filter((scan) => !GUILD_INDEX.test(scan))).toEqual([]);
});

test('due jobs are found through indexes of unfinished jobs', async () => {
  const scans = await scansOf(database, (on) => queue(on).due('', 100, 1));
  expect(scans.filter((scan) => !/^sync_jobs_(guild_due|running|unfinished)$/.test(scan))).toEqual([]);
  expect(scans).toContain('sync_jobs_guild_due');
});

test('what is counted for the gauges is read past the finished jobs', async () => {
  const [scan, ...others] = await scansOf(database, jobs.unfinishedJobs);
  expect(others).toEqual([]);
  expect(scan).toMatch(/^sync_jobs_(due|unfinished|guild_due|queued_at)$/);
});

/** Inserts a job, due before all others. */
async function newJob(guildId: string, gameGroupId = 1): Promise<jobs.JobName> {
  const job = { guildId, id: randomUUID() };
  await jobs.insertJob(database, { ...job, gameGroupId, total: 5, source: null });
  await database.query(`UPDATE members.sync_jobs SET due_at = 'epoch' WHERE id = $1`, [job.id]);
  return job;
}
const dueOf = async (guildId: string) =>
  (await queue(database).due('', 2_000, 20)).find((guild) => guild.guildId === guildId)?.ids ?? [];
async function take({ guildId, id }: jobs.JobName, on: Queryable = database): Promise<jobs.JobItem | undefined> {
  const taken = await queue(on).take(guildId, id, LEASE_MS);
  return taken && { ...itemOf(taken), ...taken, data: taken.data as jobs.JobData };
}
async function taken(job: jobs.JobName): Promise<jobs.JobItem> {
  const claimed = await take(job);
  if (!claimed) throw new Error('the job could not be taken');
  return claimed;
}
const remove = (...all: jobs.JobName[]) =>
  database.query('DELETE FROM members.sync_jobs WHERE id = ANY($1)', [all.map(({ id }) => id)]);
const endLease = ({ id }: jobs.JobName) =>
  database.query(
    'UPDATE members.sync_jobs SET leased_until = clock_timestamp(), due_at = clock_timestamp() WHERE id = $1',
    [id],
  );

function itemOf({ guildId, id }: jobs.JobName): jobs.JobItem {
  const progress = { position: '0', done: 0, changed: 0, failed: 0, errors: [] };
  const data = { gameGroupId: 1, ...progress, failedAttempts: 0, source: null };
  return { guildId, id, attempts: 1, lease: randomUUID(), signal: new AbortController().signal, data };
}

test('the time for which a job waits for its turn after a time slice is no time without progress', async () => {
  const job = await newJob('910000000000000020');
  const waits = () =>
    database.query(`UPDATE members.sync_jobs SET progressed_at = now() - interval '2 hours' WHERE id = $1`, [job.id]);
  const slice = await taken(job);
  await jobs.startJob(database, slice);
  await jobs.saveProgress(database, slice, progress);
  await queue(database).release(slice);
  await waits();
  expect(await jobs.findJob(database, job)).toMatchObject({ state: 'queued', done: 1 });
  const waiting = (await jobs.unfinishedJobs(database)).find(({ state }) => state === 'queued');
  expect(waiting).toMatchObject({ count: 1, stalledSeconds: 0 });
  const next = await taken(job);
  await jobs.startJob(database, next);
  expect(await queue(database).fail(next, failure)).toBe('queued');
  // The time of failed attempts is.
  await waits();
  await database.query(`UPDATE members.sync_jobs SET due_at = 'epoch' WHERE id = $1`, [job.id]);
  const retried = await taken(job);
  await jobs.startJob(database, retried);
  expect(await queue(database).fail(retried, failure)).toBe('dead');
  await remove(job);
});

test('of workers that take a job at the same time one gets it', async () => {
  const job = await newJob('910000000000000002');
  const claimed = await Promise.all(Array.from({ length: 8 }, () => take(job)));
  expect(claimed.filter((one) => one?.id === job.id)).toHaveLength(1);
  await remove(job);
});

test('while a job of a guild runs no other one of the guild is due or taken, and other guilds do not wait', async () => {
  const guildId = '910000000000000003';
  const [first, second] = [await newJob(guildId, 1), await newJob(guildId, 2)];
  expect((await dueOf(guildId)).toSorted()).toEqual([first.id, second.id].toSorted());
  await taken(first);
  expect(await dueOf(guildId)).toEqual([]);
  expect(await take(second)).toBeUndefined();
  const other = await newJob('910000000000000004');
  expect((await take(other))?.id).toBe(other.id);
  await remove(first, second, other);
});

test('processes that take different jobs of one guild at the same moment never run two of them', async () => {
  const guildId = '910000000000000007';
  const processes = await Promise.all(Array.from({ length: 4 }, () => openTestPool(testDatabase.url)));
  for (let round = 0; round < 15; round++) {
    const own = await Promise.all([1, 2, 3, 4].map((group) => newJob(guildId, group)));
    const claimed = await Promise.all(processes.map((one, index) => take(own[index] as jobs.JobName, one)));
    expect(claimed.filter(Boolean)).toHaveLength(1);
    await remove(...own);
  }
  await Promise.all(processes.map((one) => one.close()));
}, 60_000);

test('the database rejects a second running job of a guild, even from another program', async () => {
  const guildId = '910000000000000008';
  const [first, second] = [await newJob(guildId, 1), await newJob(guildId, 2)];
  await taken(first);
  const start = database.query('UPDATE members.sync_jobs SET holder = $2 WHERE guild_id = $1', [guildId, randomUUID()]);
  await expect(start).rejects.toSatisfy((error) => isUniqueViolation(error, 'sync_jobs_running'));
  await remove(first, second);
});

test('a job whose process died blocks other jobs of its guild until it is taken over', async () => {
  const guildId = '910000000000000009';
  const [first, second] = [await newJob(guildId, 1), await newJob(guildId, 2)];
  await taken(first);
  await endLease(first);
  expect(await dueOf(guildId)).toEqual([first.id]);
  expect(await take(second)).toBeUndefined();
  expect((await take(first))?.id).toBe(first.id);
  await remove(first, second);
});

test('a job that the previous release runs is not taken until its lease has ended', async () => {
  const job = await newJob('910000000000000012');
  // As the previous release takes it: `due_at` stays in the past.
  await database.query(
    `UPDATE members.sync_jobs SET holder = $2, state = 'running',
       leased_until = clock_timestamp() + interval '15 s' WHERE id = $1`,
    [job.id, randomUUID()],
  );
  expect(await dueOf(job.guildId)).toEqual([]);
  expect(await take(job)).toBeUndefined();
  await endLease(job);
  expect((await take(job))?.id).toBe(job.id);
  // And the previous release leaves a job alone that this one runs.
  const [free] = await database.query<{ isFree: boolean }>(
    `SELECT due_at <= clock_timestamp() AND (holder IS NULL OR leased_until IS NULL OR leased_until <= clock_timestamp())
       AS "isFree" FROM members.sync_jobs WHERE id = $1`,
    [job.id],
  );
  expect(free).toEqual({ isFree: false });
  await remove(job);
});

test('a process that has lost a job can neither save, fail, release nor finish it', async () => {
  const job = await newJob('910000000000000005');
  const running = await taken(job);
  await jobs.startJob(database, running);
  const stranger = { ...running, lease: randomUUID() };
  expect(await jobs.startJob(database, stranger)).toBeUndefined();
  expect(await jobs.saveProgress(database, stranger, progress)).toBe(false);
  expect(await queue(database).renew(stranger, LEASE_MS)).toBe(false);
  expect(await queue(database).finish(stranger)).toBe(false);
  expect(await queue(database).fail(stranger, failure)).toBeUndefined();
  expect(await queue(database).release(stranger)).toBe(false);
  expect(await jobs.findJob(database, job)).toMatchObject({ state: 'running', done: 0, attempts: 0, cause: null });
  await remove(job);
});

test('the age of a job counts from its last progress', async () => {
  const job = await newJob('910000000000000010');
  const running = await taken(job);
  await database.query(
    `UPDATE members.sync_jobs SET created_at = 'epoch', started_at = 'epoch', progressed_at = 'epoch' WHERE id = $1`,
    [job.id],
  );
  expect(await jobs.saveProgress(database, running, progress)).toBe(true);
  expect(await queue(database).fail(running, failure)).toBe('queued');
  await remove(job);
});

test('a job without progress for too long has failed, and its progress stays stored', async () => {
  const job = await newJob('910000000000000011');
  const running = await taken(job);
  await jobs.saveProgress(database, running, progress);
  await database.query(
    `UPDATE members.sync_jobs SET progressed_at = clock_timestamp() - interval '2 h' WHERE id = $1`,
    [job.id],
  );
  // The same position again is no progress.
  await jobs.saveProgress(database, running, progress);
  expect(await queue(database).fail(running, failure)).toBe('dead');
  await jobs.endAttempt(database, job, 'failed', cause);
  expect(await jobs.findJob(database, job)).toMatchObject({ state: 'failed', position: '1', done: 1, cause });
  expect(await take(job)).toBeUndefined();
  await remove(job);
});

test('the database rejects a second unfinished job of a group in a guild', async () => {
  const job = await newJob('910000000000000006');
  await expect(newJob(job.guildId)).rejects.toSatisfy((error) => isUniqueViolation(error, 'sync_jobs_unfinished'));
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
