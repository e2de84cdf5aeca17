// Guarantees: the jobs and previews of guilds with many members hold no slot of their queue for longer than their time
// slice while other guilds wait, and without others they continue at once; an interruption is no failure.
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import type { QueueDefinition } from '#kit/queue/definition.ts';
import { QueueWorker } from '#kit/queue/worker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { Verdict } from '#proto/gen/guild/bindings/v1/bindings.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { insertPreview } from '../store/binding-previews.ts';
import { insertJob } from '../store/sync-jobs.ts';
import { JobTelemetry } from '../telemetry/jobs.ts';
import { PreviewTelemetry } from '../telemetry/previews.ts';
import { GroupSync } from './group-sync.ts';
import { jobQueue } from './job-queue.ts';
import { previewQueue } from './preview-queue.ts';
import { PreviewRunner } from './preview-run.ts';

const LARGE = '900000000000000001';
const SMALL = '900000000000000002';
const BINDING = { id: 0, chatRoleId: '1', target: { $case: 'linked', value: true }, conditions: [], authority: 0 };
const ROLE = { id: '1', assignable: true, belowBot: true, managed: false };
/** The number of members on a page of the member list. */
const PAGE = 2;

let testDatabase: TestDatabase;
let database: Database;
let worker: QueueWorker | undefined;
let metrics: Metrics;
let pages: Record<string, number>;
/** The guilds whose pages were read and whose members were evaluated, in this order. */
let read: string[];
let evaluated: string[];
/** Called before a page is returned, and before an evaluation returns. */
let onPage: () => void;
let onEvaluation: () => void;
/** What the bindings say about the roles of each member. */
let verdicts: object[];
/** True if the game platform does not return the data of the first member of a page. */
let isIncomplete: boolean;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
beforeEach(() => {
  metrics = new Metrics();
  [pages, read, evaluated] = [{ [LARGE]: 4, [SMALL]: 1 }, [], []];
  [onPage, onEvaluation, isIncomplete] = [() => undefined, () => undefined, false];
  verdicts = [];
});
afterEach(async () => {
  await worker?.drain();
  await database.query('TRUNCATE members.sync_jobs, members.binding_previews');
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const chat = {
  roles: async () => [ROLE],
  async members(guildId: string, after: string) {
    read.push(guildId);
    onPage();
    const last = PAGE * (pages[guildId] ?? 0);
    const ids = Array.from({ length: last }, (_, index) => index + 1).filter((id) => id > Number(after));
    const members = ids
      .slice(0, PAGE)
      .map((id) => ({ chatId: String(id), username: 'user', nickname: null, roles: [] }));
    return { members, next: ids.length > PAGE ? (members.at(-1)?.chatId ?? null) : null };
  },
};
const lookup = {
  getLinks: async ({ chatIds }: { chatIds: string[] }) => ({
    links: chatIds.map((chatId) => ({ chatId, gameId: Number(chatId), version: '1' })),
  }),
};
const bindings = {
  listBindings: async () => ({ bindings: [BINDING] }),
  async evaluate({ guildId, members }: { guildId: string; members: { chatId: string }[] }) {
    evaluated.push(guildId);
    onEvaluation();
    const ofMembers = members.map(({ chatId }, index) => ({ chatId, incomplete: isIncomplete && index === 0 }));
    return { members: ofMembers.map((verdict) => ({ ...verdict, roles: verdicts, rejected: false })) };
  },
};
const changes = {
  applyVerdicts: async () => ({ changes: { added: [ROLE.id], removed: [], failed: [] } }),
};
const nicknames = { textsOf: async (_: string, members: object[]) => members.map(() => undefined) };
const events = { rolesChanged: async () => undefined, jobFinished: async () => undefined };

/** The queues of a process with one slot. */
function definitionOf(queue: string, sliceMs: number): QueueDefinition {
  const log = pino({ level: 'silent' });
  const options = { database, chat, lookup, bindings } as never as ConstructorParameters<typeof PreviewRunner>[0];
  if (queue === 'previews') {
    const runner = new PreviewRunner({ ...options, sliceMs });
    return { ...previewQueue({ database, runner, telemetry: new PreviewTelemetry(log) }), concurrency: 1 };
  }
  const groupSync = new GroupSync({ ...options, changes: changes as never, nicknames: nicknames as never });
  const telemetry = new JobTelemetry(metrics, log);
  const parts = { database, groupSync, telemetry, events: events as never, giveUpSeconds: 3_600, sliceMs };
  return { ...jobQueue(parts), concurrency: 1 };
}

async function start(queue: string, sliceMs: number): Promise<void> {
  const limits = { maxAttempts: 1, maxOutageSeconds: 60 };
  const log = pino({ level: 'silent' });
  worker = new QueueWorker([definitionOf(queue, sliceMs)], { database, limits, metrics, log });
  await worker.start();
}

async function enqueue(queue: string, ...guildIds: string[]): Promise<void> {
  for (const guildId of guildIds) {
    const name = { guildId, id: randomUUID() };
    if (queue === 'jobs') await insertJob(database, { ...name, total: 1, gameGroupId: 1, source: null });
    else await insertPreview(database, name, { binding: BINDING as never, isRemoval: false, total: 1 });
  }
}

const TABLES = { jobs: 'sync_jobs', previews: 'binding_previews' };
const QUEUES = ['jobs', 'previews'] as const;
const untilDone = (queue: keyof typeof TABLES) =>
  vi.waitFor(async () => {
    expect(await database.query(`SELECT FROM members.${TABLES[queue]} WHERE finished_at IS NULL`)).toEqual([]);
  }, 5_000);

test.each(QUEUES)('%s of a large guild let a small one in after each time slice, and lose nothing', async (queue) => {
  await enqueue(queue, LARGE, SMALL);
  await start(queue, 0);
  await untilDone(queue);
  expect(read).toEqual([LARGE, SMALL, LARGE, LARGE, LARGE]);
  const ended = await database.query(
    `SELECT guild_id, state, done, cause FROM members.${TABLES[queue]} ORDER BY guild_id`,
  );
  expect(ended).toEqual([
    { guild_id: LARGE, state: 'done', done: 8, cause: null },
    { guild_id: SMALL, state: 'done', done: 2, cause: null },
  ]);
  expect(await metrics.registry.metrics()).toMatch(/^queue_attempts_total\{[^}]*outcome="retried"[^}]*\} 0$/m);
});

test('jobs that change members give their slot away within a batch, and lose nothing', async () => {
  pages[LARGE] = 1;
  verdicts = [{ chatRoleId: ROLE.id, verdict: Verdict.VERDICT_WANTED, bindings: [], authority: 0, lasting: false }];
  await enqueue('jobs', LARGE, SMALL);
  await start('jobs', 0);
  await untilDone('jobs');
  expect(read).toEqual([LARGE, SMALL, LARGE, SMALL]);
  const ended = await database.query('SELECT state, done, changed FROM members.sync_jobs');
  expect(ended).toEqual([1, 2].map(() => ({ state: 'done', done: 2, changed: 2 })));
});

test.each(QUEUES)('%s within their time slice are not interrupted', async (queue) => {
  await enqueue(queue, LARGE, SMALL);
  await start(queue, 60_000);
  await untilDone(queue);
  expect(read).toEqual([LARGE, LARGE, LARGE, LARGE, SMALL]);
});

test.each(QUEUES)('%s of the only guild continue at once after a time slice', async (queue) => {
  pages[LARGE] = 30;
  await enqueue(queue, LARGE);
  await start(queue, 0);
  // A poll finds due items only every half second or later.
  await untilDone(queue);
  expect(read).toHaveLength(30);
});

test.each(QUEUES)('%s of a process that stops read no further page and evaluate nobody', async (queue) => {
  await enqueue(queue, LARGE);
  const stop = () => void worker?.drain();
  onPage = stop;
  await start(queue, 60_000);
  await vi.waitFor(() => expect(read).toEqual([LARGE]));
  await worker?.drain();
  expect([read.length, evaluated.length]).toEqual([1, 0]);
  [onPage, onEvaluation] = [() => undefined, stop];
  await start(queue, 60_000);
  await vi.waitFor(() => expect(evaluated).toEqual([LARGE]));
  await worker?.drain();
  expect([read.length, evaluated.length]).toEqual([2, 1]);
});

test.each(QUEUES)('%s of a process that stops while it waits for missing data have not failed', async (queue) => {
  await enqueue(queue, LARGE);
  isIncomplete = true;
  onEvaluation = () => void worker?.drain();
  await start(queue, 60_000);
  await vi.waitFor(() => expect(evaluated).toEqual([LARGE]));
  await worker?.drain();
  expect(evaluated).toEqual([LARGE]);
  const attempts = queue === 'jobs' ? 'queue_attempts' : 'attempts';
  const stored = await database.query(`SELECT ${attempts} AS attempts, cause FROM members.${TABLES[queue]}`);
  expect(stored).toEqual([{ attempts: 0, cause: null }]);
});
