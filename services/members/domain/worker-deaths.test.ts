// Guarantees of sync jobs and previews without progress: those whose workers die are attempted again, but not for ever.
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { QueueWorker } from '#kit/queue/worker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { findPreview, insertPreview } from '../store/binding-previews.ts';
import { findJob, insertJob } from '../store/sync-jobs.ts';
import { JobTelemetry } from '../telemetry/jobs.ts';
import { PreviewTelemetry } from '../telemetry/previews.ts';
import type { GroupSync } from './group-sync.ts';
import { jobQueue } from './job-queue.ts';
import { previewQueue } from './preview-queue.ts';
import type { PreviewRunner } from './preview-run.ts';

const ITEM = { guildId: '900000000000000001', id: randomUUID() };
const DOWN = { chat_id: null, role_id: null, code: 'PLATFORM_ERROR', message: 'It is down' };
const log = pino({ level: 'silent' });
const metrics = new Metrics();

let testDatabase: TestDatabase;
let database: Database;
let worker: QueueWorker | undefined;
let runs: number;
/** The error with which each attempt ends. */
let error: Error | undefined;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
beforeEach(() => {
  runs = 0;
  error = undefined;
});
afterEach(async () => {
  await worker?.drain();
  await database.query('TRUNCATE members.binding_previews, members.sync_jobs');
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const run = async () => {
  runs += 1;
  if (error) throw error;
  return true;
};
const events = { jobFinished: async () => undefined } as never;

/** Both give up after ten minutes without progress. */
const QUEUES = {
  previews: {
    table: 'binding_previews',
    attempts: 'attempts',
    insert: () => insertPreview(database, ITEM, { binding: {} as never, isRemoval: false, total: 1 }),
    find: () => findPreview(database, ITEM),
    definition: () => {
      const runner = { run } as unknown as PreviewRunner;
      return previewQueue({ database, runner, telemetry: new PreviewTelemetry(log) });
    },
  },
  jobs: {
    table: 'sync_jobs',
    attempts: 'queue_attempts',
    insert: () => insertJob(database, { ...ITEM, gameGroupId: 1, total: 1, source: null }),
    find: () => findJob(database, ITEM),
    definition: () => {
      const groupSync = { run } as unknown as GroupSync;
      const telemetry = new JobTelemetry(new Metrics(), log);
      return jobQueue({ database, groupSync, telemetry, events, giveUpSeconds: 600 });
    },
  },
};

/** Starts a worker after others have died during their attempts, and have made no progress for so many minutes. */
async function startAfter(name: keyof typeof QUEUES, attempts: number, minutes: number, cause?: object): Promise<void> {
  const queue = QUEUES[name];
  await queue.insert();
  const started = new Date(Date.now() - minutes * 60_000);
  await database.query(
    `UPDATE members.${queue.table} SET ${queue.attempts} = $2, cause = $3, holder = $4, started_at = $5, progressed_at = $5,
       leased_until = $6 WHERE guild_id = $1`,
    [ITEM.guildId, attempts, cause ?? null, randomUUID(), started, new Date(Date.now() - 1_000)],
  );
  const limits = { maxAttempts: null, maxOutageSeconds: null };
  worker = new QueueWorker([queue.definition()], { database, limits, metrics, log });
  await worker.start();
}
const finished = (name: keyof typeof QUEUES) =>
  vi.waitFor(async () => {
    const found = await QUEUES[name].find();
    expect(found?.finishedAt).toEqual(expect.any(Date));
    return found;
  });

describe.each(['previews', 'jobs'] as const)('%s', (name) => {
  test('whose workers die fail after twice the time without progress, and are not attempted again', async () => {
    await startAfter(name, 3, 21);
    expect(await finished(name)).toMatchObject({ state: 'failed', cause: { code: 'INTERNAL' } });
    expect(runs).toBe(0);
  });

  test('whose attempts fail with an error are attempted after that time, and the result decides', async () => {
    await startAfter(name, 9, 15, DOWN);
    expect(await finished(name)).toMatchObject({ state: 'done', cause: null });
    expect(runs).toBe(1);
  });

  test.each([
    ['within twice that time', 9, 19],
    ['after a long stop of all processes', 1, 60],
  ])('whose worker died are attempted again %s', async (_, attempts, minutes) => {
    await startAfter(name, attempts, minutes);
    expect(await finished(name)).toMatchObject({ state: 'done' });
    expect(runs).toBe(1);
  });

  test('that waited for their turn after a time slice have time for further attempts', async () => {
    error = new ApiError('UNAVAILABLE');
    await startAfter(name, 0, 60);
    await expect.poll(async () => (await QUEUES[name].find())?.state).toBe('paused');
    expect(runs).toBe(1);
  });

  test('whose attempts fail for longer than that time fail', async () => {
    error = new ApiError('UNAVAILABLE');
    await startAfter(name, 2, 11, DOWN);
    expect(await finished(name)).toMatchObject({ state: 'failed', cause: { code: 'UNAVAILABLE' } });
    expect(runs).toBe(1);
  });
});
