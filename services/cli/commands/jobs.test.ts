import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RunningService, startService } from '#kit/service/service.ts';
import { membersService } from '#services/members/service.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { startAuthForOperators, type TestAuth } from '#test/system/auth.ts';
import { TEST_ADMIN_SECRETS, testEnvironment } from '#test/system/signed-calls.ts';
import { guildctl } from '../guildctl.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000002';
const [ADMIN_SECRET = ''] = TEST_ADMIN_SECRETS;
const CAUSE = { chat_id: null, role_id: null, code: 'TIMEOUT', message: 'The chat platform took too long' };

let database: TestDatabase;
let members: RunningService;

let auth: TestAuth;
beforeAll(async () => {
  database = await createTestDatabase();
  auth = await startAuthForOperators(database.url);
  members = await startService(membersService, {
    ...testEnvironment(database.url),
    // No service listens there, so each job is paused.
    LOOKUP_GRPC_ADDRESS: '127.0.0.1:1',
    BINDINGS_GRPC_ADDRESS: '127.0.0.1:1',
    CHAT_BOT_TOKEN: 'token',
  });
});
beforeEach(() => databaseRows(database.url, 'TRUNCATE members.sync_jobs'));
afterAll(async () => {
  await auth.stop();
  await members.stop();
  await database.drop();
});

async function run(...words: string[]): Promise<{ status: number; out: string; error: string }> {
  const said = { out: '', error: '' };
  const status = await guildctl(words, {
    environment: { GUILDCTL_AUTH: auth.address, GUILDCTL_MEMBERS: members.addresses.grpc, ADMIN_SECRETS: ADMIN_SECRET },
    user: 'ada',
    out: (text) => (said.out += text),
    error: (text) => (said.error += text),
  });
  return { status, ...said };
}

async function json(...words: string[]): Promise<Record<string, unknown>> {
  const { status, out, error } = await run(...words, '--json');
  expect({ status, error }).toEqual({ status: 0, error: '' });
  return JSON.parse(out) as Record<string, unknown>;
}

/** Jobs for the groups 1, 2, …, each a minute younger than the one before; paused ones are due in a day. */
async function addJobs(count: number, state: string, guildId = GUILD): Promise<string[]> {
  const rows = await databaseRows<{ id: string }>(
    database.url,
    `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, done, position, attempts, cause, due_at,
       created_at, started_at, progressed_at, finished_at)
     SELECT $1, gen_random_uuid(), n, $2, 10, 4, '920000000000000004', 3,
       CASE WHEN $2 = 'done' THEN NULL ELSE $3::jsonb END, now() + interval '1 day',
       now() + n * interval '1 minute', now(), now(), CASE WHEN $2 IN ('done', 'failed') THEN now() END
     FROM generate_series(1, $4::int) n ORDER BY n RETURNING id`,
    [guildId, state, JSON.stringify(CAUSE), count],
  );
  return rows.map(({ id }) => id);
}

interface Listed {
  jobs: { job_id: string; state: string; game_group_id: number }[];
  next_cursor: string | null;
}
const list = async (...words: string[]) =>
  (await json('jobs', 'list', '--guild', GUILD, ...words)) as unknown as Listed;

test("jobs list shows a guild's own jobs, the newest first, in pages that end", async () => {
  await addJobs(2, 'paused', OTHER_GUILD);
  const ids = (await addJobs(5, 'done')).toReversed();
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Listed = await list('--limit', '2', ...(cursor ? ['--cursor', cursor] : []));
    seen.push(...page.jobs.map(({ job_id }) => job_id));
    cursor = page.next_cursor;
  } while (cursor);
  expect(seen).toEqual(ids);
  expect((await list('--all')).jobs.map(({ job_id }) => job_id)).toEqual(ids);
  expect((await list('--unfinished')).jobs).toEqual([]);
  const { out } = await run('jobs', 'list', '--guild', GUILD);
  expect(out).toContain('LAST PROGRESS');
  expect(out).toContain('4/10');
});

test('a paused job is due immediately after a retry, and keeps its position', async () => {
  const [id = ''] = await addJobs(1, 'paused');
  const job = await json('jobs', 'retry', '--guild', GUILD, id);
  expect(job).toMatchObject({ job_id: id, state: 'queued', attempts: 0, done: 4, cause: null, finished_at: null });
  // It is taken immediately, and paused because its dependencies are down.
  await expect
    .poll(() => databaseRows(database.url, 'SELECT state, position, done FROM members.sync_jobs'))
    .toEqual([{ state: 'paused', position: '920000000000000004', done: 4 }]);
});

test('a failed job continues at its position, unless another job for its group is not finished', async () => {
  const [id = ''] = await addJobs(1, 'failed');
  await addJobs(1, 'paused');
  const busy = await run('jobs', 'retry', '--guild', GUILD, id);
  expect([busy.status, busy.error]).toEqual([1, expect.stringContaining('is not finished')]);
  await databaseRows(database.url, `DELETE FROM members.sync_jobs WHERE state = 'paused'`);
  expect(await json('jobs', 'retry', '--guild', GUILD, id)).toMatchObject({ state: 'queued', done: 4 });
});

test('a cancelled job has failed with the cause CANCELLED, and its changes stay', async () => {
  const [id = ''] = await addJobs(1, 'paused');
  const job = await json('jobs', 'cancel', '--guild', GUILD, id);
  expect(job).toMatchObject({ state: 'failed', done: 4, cause: { code: 'CANCELLED' } });
  expect(job['finished_at']).toEqual(expect.any(Number));
  const again = await run('jobs', 'cancel', '--guild', GUILD, id);
  expect([again.status, again.error]).toEqual([
    1,
    expect.stringContaining('The job is failed and cannot be cancelled'),
  ]);
});

test.each(['retry', 'cancel'])(
  'jobs %s finds no job of another guild, and no job that does not exist',
  async (what) => {
    const [id = ''] = await addJobs(1, 'paused', OTHER_GUILD);
    for (const name of [id, '00000000-0000-4000-8000-000000000000']) {
      const { status, error } = await run('jobs', what, '--guild', GUILD, name);
      expect([status, error]).toEqual([1, expect.stringContaining('no such job')]);
    }
    const [row] = await databaseRows(database.url, 'SELECT state FROM members.sync_jobs');
    expect(row).toEqual({ state: 'paused' });
  },
);

test('a job that is done cannot be retried', async () => {
  const [id = ''] = await addJobs(1, 'done');
  const { status, error } = await run('jobs', 'retry', '--guild', GUILD, id);
  expect([status, error]).toEqual([1, expect.stringContaining('The job is done and cannot be retried')]);
});

test('missing or invalid arguments are reported, and nothing is changed', async () => {
  expect((await run('jobs', 'retry', '--guild', GUILD)).error).toContain('JOB_ID is required');
  expect((await run('jobs', 'cancel', '--guild', GUILD, 'x')).error).toContain('JOB_ID must be a UUID');
  expect((await run('jobs', 'list')).error).toContain('--guild is required');
  expect((await run('jobs', 'list', '--guild', GUILD, '--cursor', 'made-up')).error).toContain('--cursor');
});
