import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { JobAdminServiceService } from '#proto/gen/guild/members/v1/admin.ts';
import { scrape } from '#test/measure/metrics.ts';
import { connect, TEST_OPERATOR } from '#test/network/grpc.ts';
import { openTestPool } from '#test/postgres/database.ts';
import { TEST_ADMIN_SECRETS } from '#test/system/signed-calls.ts';
import { GUILD } from './fixture.ts';
import { chatIdOf, DECK, GROUP } from './fixtures/crew.ts';
import { JobsFixture, until } from './fixtures/jobs.ts';
import { insertJob, lockJobs } from './store/sync-jobs.ts';

const fixture = new JobsFixture();
beforeAll(() => fixture.start());
afterEach(() => fixture.calm());
afterAll(() => fixture.stop());

/** Calls the queue methods as `guildctl queue` does. */
async function operator<Result>(call: (client: GrpcClient<typeof QueueAdminServiceService>) => Promise<Result>) {
  const address = fixture.members.addresses.grpc ?? '';
  const { client, close } = connect(QueueAdminServiceService, 'members', address, fixture.clock, TEST_ADMIN_SECRETS);
  return call(client).finally(close);
}
const deadJobs = async () => {
  const request = { queue: 'sync-jobs', guildId: GUILD, state: 'dead', limit: 100, position: '' };
  return (await operator((client) => client.listQueueItems(request))).items;
};
const deadLettersMetric = async () => (await scrape(fixture.members))('queue_items{queue="sync-jobs",state="dead"}');

/** A job that has handled two of four members and then made no progress for a day. */
async function failedJob(): Promise<string> {
  await fixture.settle(4);
  await fixture.bindRank(DECK, { min: 10 });
  await fixture.chat.fault(`/members/${chatIdOf(3)}/roles`, { status: 503 });
  const id = await fixture.newJob();
  await fixture.paused(id);
  await fixture.advance(24 * 3600_000);
  expect(await fixture.finished(id)).toMatchObject({ state: 'failed', done: 2 });
  await fixture.forget();
  return id;
}

test('a failed job is a dead letter, and continues at its position after guildctl queue retry', async () => {
  const id = await failedJob();
  expect(await deadJobs()).toMatchObject([
    { id, state: 'dead', lastError: expect.stringMatching(/^PLATFORM_ERROR: /) },
  ]);
  await expect.poll(deadLettersMetric).toBe(1);
  await operator((client) => client.retryQueueItems({ queue: 'sync-jobs', guildId: GUILD, id }));
  expect(await fixture.finished(id)).toMatchObject({ state: 'done', done: 4, changed: 4, errors: [] });
  expect(await deadJobs()).toEqual([]);
  await expect.poll(deadLettersMetric).toBe(0);
});

test('a dead job that an operator skips stays failed', async () => {
  const id = await failedJob();
  const before = await fixture.job(id);
  await operator((client) => client.skipQueueItem({ queue: 'sync-jobs', guildId: GUILD, id }));
  expect(await deadJobs()).toEqual([]);
  expect(await fixture.job(id)).toEqual(before);
});

test('a paused job that an operator skips has failed as if it was cancelled', async () => {
  await fixture.settle(1);
  await fixture.bindRank(DECK, { min: 10 });
  await fixture.chat.fault('/guilds', { status: 503 });
  const id = await fixture.newJob();
  await fixture.paused(id);
  await operator((client) => client.skipQueueItem({ queue: 'sync-jobs', guildId: GUILD, id }));
  expect(await fixture.job(id)).toMatchObject({
    state: 'failed',
    errors: [{ code: 'CANCELLED' }],
    finished_at: expect.any(Number) as number,
  });
});

test('the log names the operator who retried or cancelled a job, whatever the note of the call says', async () => {
  const logged: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => logged.push(line) });
  const replica = await fixture.startMembers({}, log);
  const { client, close } = connect(
    JobAdminServiceService,
    'members',
    replica.addresses.grpc ?? '',
    fixture.clock,
    TEST_ADMIN_SECRETS,
  );
  await fixture.settle(1);
  await fixture.bindRank(DECK, { min: 10 });
  await fixture.chat.fault('/guilds', { status: 503 });
  const id = await fixture.newJob();
  await fixture.paused(id);
  const job = { guildId: GUILD, id, actor: 'Somebody Else' };
  await client.retryJob(job);
  await client.cancelJob(job);
  close();
  await replica.stop();
  const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  const changes = lines.filter(({ msg }) => String(msg).endsWith('by an operator'));
  expect(changes.map(({ msg, actor }) => [msg, actor])).toEqual([
    ['sync job retried by an operator', TEST_OPERATOR],
    ['sync job cancelled by an operator', TEST_OPERATOR],
  ]);
});

test('a new job of the same group replaces a dead one, which bulk retries then leave alone', async () => {
  await failedJob();
  const next = await fixture.newJob();
  expect(await fixture.finished(next)).toMatchObject({ state: 'done' });
  expect(await deadJobs()).toEqual([]);
  const response = await operator((client) => client.retryQueueItems({ queue: 'sync-jobs' }));
  expect(response).toMatchObject({ retried: 0, isMore: false });
});

test('a retry that would give a guild more than 20 unfinished jobs is rejected', async () => {
  const id = await failedJob();
  await fixture.query(
    `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, due_at, created_at)
     SELECT $1, gen_random_uuid(), n, 'paused', 0, 'infinity', now() FROM generate_series(1000, 1019) n`,
    [GUILD],
  );
  const retry = operator((client) => client.retryQueueItems({ queue: 'sync-jobs', guildId: GUILD, id }));
  await expect(retry).rejects.toMatchObject({ code: 'CONFLICT' });
  const all = await operator((client) => client.retryQueueItems({ queue: 'sync-jobs', guildId: GUILD }));
  expect(all).toMatchObject({ retried: 0, isMore: false });
  expect(await deadJobs()).toHaveLength(1);
  await fixture.query('DELETE FROM members.sync_jobs WHERE game_group_id BETWEEN 1000 AND 1019');
  await operator((client) => client.skipQueueItem({ queue: 'sync-jobs', guildId: GUILD, id }));
});

test('a retry while another job of the group is unfinished is rejected', async () => {
  const id = await failedJob();
  // As the previous release starts a job: it does not know that an earlier one is a dead letter.
  await fixture.query(
    `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, due_at, created_at)
     VALUES ($1, gen_random_uuid(), $2, 'paused', 0, 'infinity', now())`,
    [GUILD, GROUP],
  );
  const retry = operator((client) => client.retryQueueItems({ queue: 'sync-jobs', guildId: GUILD, id }));
  await expect(retry).rejects.toMatchObject({ code: 'CONFLICT' });
  await fixture.query(`DELETE FROM members.sync_jobs WHERE due_at = 'infinity'`);
  await operator((client) => client.skipQueueItem({ queue: 'sync-jobs', guildId: GUILD, id }));
});

test('a new job and a retry of its predecessor at the same time do not deadlock', async () => {
  const id = await failedJob();
  const pool = await openTestPool(fixture.database.url);
  let retry: Promise<unknown> | undefined;
  const next = randomUUID();
  await pool.transaction(async (transaction) => {
    await lockJobs(transaction, GUILD);
    retry = operator((client) => client.retryQueueItems({ queue: 'sync-jobs', guildId: GUILD, id })).catch(
      (error: unknown) => error,
    );
    await until(async () => {
      const waiting = await fixture.query(`SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`);
      return waiting.length > 0;
    });
    await insertJob(transaction, { guildId: GUILD, id: next, gameGroupId: GROUP, total: 4, source: null });
  });
  await pool.close();
  // The new job has replaced the dead one, so there is nothing to retry.
  expect(await retry).toMatchObject({ code: 'NOT_FOUND' });
  expect(await fixture.finished(next)).toMatchObject({ state: 'done' });
  expect(await deadJobs()).toEqual([]);
});
