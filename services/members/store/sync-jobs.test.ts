import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { createLog } from '#kit/log.ts';
import type { Database, Queryable } from '#kit/postgres.ts';
import { Retention } from '#kit/retention.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/database.ts';
import { scansOf } from '#test/explain.ts';
import { testEnvironment } from '#test/sealed.ts';
import { readMembersConfig } from '../config.ts';
import { retentionRules } from '../service.ts';
import { listGrantsOf } from './roles.ts';
import * as jobs from './sync-jobs.ts';

const GUILD = '900000000000000001';
const now = new Date();
const later = new Date(now.getTime() + 15_000);

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

test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
  ['findUnfinished', (on) => jobs.findUnfinished(on, GUILD, 7), ['sync_jobs_unfinished']],
  ['countUnfinished', (on) => jobs.countUnfinished(on, GUILD), ['sync_jobs_unfinished']],
  ['findJob', (on) => jobs.findJob(on, name), ['sync_jobs_pkey']],
  [
    'takeJob',
    (on) => jobs.takeJob(on, holder, now, later),
    ['sync_jobs_due', 'sync_jobs_unfinished', 'sync_jobs_pkey'],
  ],
  ['keepJob', (on) => jobs.keepJob(on, name, holder, later), ['sync_jobs_pkey']],
  ['saveProgress', (on) => jobs.saveProgress(on, name, holder, progress, later), ['sync_jobs_pkey']],
  ['pauseJob', (on) => jobs.pauseJob(on, name, holder, cause, later), ['sync_jobs_pkey']],
  ['releaseJob', (on) => jobs.releaseJob(on, name, holder, now), ['sync_jobs_pkey']],
  ['finishJob', (on) => jobs.finishJob(on, name, holder, { state: 'done', cause: null }, now), ['sync_jobs_pkey']],
  ['listGrantsOf', (on) => listGrantsOf(on, GUILD, ['1', '2'], ['3']), ['grants_pkey']],
])('on 50,000 jobs %s finds its rows by an index', async (_name, statement, indexes) => {
  expect(await scansOf(database, statement)).toEqual(indexes);
});

test('what is counted for the gauges is read past the finished jobs', async () => {
  const [scan, ...others] = await scansOf(database, jobs.unfinishedJobs);
  expect([others, ['sync_jobs_due', 'sync_jobs_unfinished']]).toEqual([[], expect.arrayContaining([scan])]);
});

/** A job of a guild of its own, taken by nobody. */
async function newJob(guildId: string, gameGroupId = 1): Promise<jobs.JobName> {
  const job = { guildId, id: randomUUID() };
  await jobs.insertJob(database, { ...job, gameGroupId, total: 5 }, new Date(0));
  return job;
}
/** As with a lease that ends in 1970, before those of all others. */
const take = (at: number, until = at + 10) => jobs.takeJob(database, randomUUID(), new Date(at), new Date(until));

test('a job is taken by one at a time, and by another once the lease has ended', async () => {
  const job = await newJob('910000000000000001');
  expect(await take(1)).toMatchObject({ ...job, state: 'running', position: '0', startedAt: new Date(1) });
  expect(await take(5)).toBeUndefined();
  expect(await take(11)).toMatchObject({ ...job, startedAt: new Date(1) });
  await database.query('DELETE FROM members.sync_jobs WHERE id = $1', [job.id]);
});

test('of two that take at the same time one gets the job', async () => {
  const job = await newJob('910000000000000002');
  const taken = await Promise.all(Array.from({ length: 8 }, () => take(1)));
  expect(taken.filter(Boolean)).toHaveLength(1);
  await database.query('DELETE FROM members.sync_jobs WHERE id = $1', [job.id]);
});

test('of a guild whose job runs no other is taken, and other guilds do not wait for it', async () => {
  const guildId = '910000000000000003';
  const own = [await newJob(guildId, 1), await newJob(guildId, 2)];
  const first = await take(1);
  expect(first?.guildId).toBe(guildId);
  expect(await take(2)).toBeUndefined();
  const other = await newJob('910000000000000004');
  expect((await take(3))?.id).toBe(other.id);
  await database.query('DELETE FROM members.sync_jobs WHERE id = ANY($1)', [[...own, other].map(({ id }) => id)]);
});

test('who has lost a job can neither save, pause, release nor finish it', async () => {
  const job = await newJob('910000000000000005');
  await take(1);
  const stranger = randomUUID();
  expect(await jobs.saveProgress(database, job, stranger, progress, later)).toBe(false);
  expect(await jobs.keepJob(database, job, stranger, later)).toBe(false);
  expect(await jobs.finishJob(database, job, stranger, { state: 'done', cause: null }, now)).toBe(false);
  await jobs.pauseJob(database, job, stranger, cause, later);
  await jobs.releaseJob(database, job, stranger, now);
  expect(await jobs.findJob(database, job)).toMatchObject({ state: 'running', done: 0, attempts: 0, cause: null });
  await database.query('DELETE FROM members.sync_jobs WHERE id = $1', [job.id]);
});

test('a group has one unfinished job in a guild, whoever inserts it', async () => {
  const job = await newJob('910000000000000006');
  await expect(newJob(job.guildId)).rejects.toMatchObject({ constraint: 'sync_jobs_unfinished' });
  await database.query('DELETE FROM members.sync_jobs WHERE id = $1', [job.id]);
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
  const retention = new Retention(database, retentionRules(config), clock, log);
  const count = async () => (await database.query('SELECT 1 FROM members.sync_jobs')).length;
  clock.advance(29 * 24 * 3600_000);
  await retention.sweep();
  expect(await count()).toBe(50_000);
  clock.advance(2 * 24 * 3600_000);
  await retention.sweep();
  expect(await count()).toBe(500);
});
