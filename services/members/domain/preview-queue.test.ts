import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { QueueWorker } from '#kit/queue/worker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { findPreview, insertPreview } from '../store/binding-previews.ts';
import { PreviewTelemetry } from '../telemetry/previews.ts';
import { previewQueue } from './preview-queue.ts';
import type { PreviewRunner } from './preview-run.ts';

const PREVIEW = { guildId: '900000000000000001', id: randomUUID() };

let testDatabase: TestDatabase;
let database: Database;
let worker: QueueWorker | undefined;
let runs: number;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
beforeEach(async () => {
  runs = 0;
  await insertPreview(database, PREVIEW, { binding: {} as never, isRemoval: false, total: 1 });
});
afterEach(async () => {
  await worker?.drain();
  await database.query('TRUNCATE members.binding_previews');
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Starts a worker after others have died during their attempts, and have made no progress for so many minutes. */
async function startAfter(attempts: number, minutes: number, cause: object | null = null): Promise<void> {
  await database.query(
    `UPDATE members.binding_previews SET attempts = $1, cause = $2, holder = gen_random_uuid(), started_at = started,
       progressed_at = started, leased_until = clock_timestamp() - interval '1 second'
     FROM (SELECT clock_timestamp() - $3 * interval '1 minute' AS started) AS clock`,
    [attempts, cause, minutes],
  );
  const log = pino({ level: 'silent' });
  const runner = { run: async () => void (runs += 1) } as unknown as PreviewRunner;
  const definition = previewQueue({ database, runner, telemetry: new PreviewTelemetry(log) });
  const limits = { maxAttempts: null, maxOutageSeconds: null };
  worker = new QueueWorker([definition], { database, limits, metrics: new Metrics(), log });
  await worker.start();
}
const finished = () =>
  vi.waitFor(async () => {
    const preview = await findPreview(database, PREVIEW);
    expect(preview?.finishedAt).not.toBeNull();
    return preview;
  });

test('a preview whose workers die fails after twenty minutes without progress, and is not attempted again', async () => {
  await startAfter(3, 21);
  expect(await finished()).toMatchObject({ state: 'failed', cause: { code: 'INTERNAL' } });
  expect(runs).toBe(0);
});

test('the error of an attempt before them stays the reason', async () => {
  const cause = { chat_id: null, role_id: null, code: 'PLATFORM_ERROR', message: 'It is down' };
  await startAfter(3, 21, cause);
  expect(await finished()).toMatchObject({ state: 'failed', cause });
});

test('a preview whose attempts fail with an error is attempted after ten minutes, and the result decides', async () => {
  await startAfter(9, 15, { chat_id: null, role_id: null, code: 'PLATFORM_ERROR', message: 'It is down' });
  expect(await finished()).toMatchObject({ state: 'done', cause: null });
  expect(runs).toBe(1);
});

test.each([
  ['within twenty minutes', 9, 19],
  ['after a long stop of all processes', 1, 60],
])('a preview whose worker died is attempted again %s', async (_, attempts, minutes) => {
  await startAfter(attempts, minutes);
  expect(await finished()).toMatchObject({ state: 'done' });
  expect(runs).toBe(1);
});
