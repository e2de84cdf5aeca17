import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { JobAdminServiceService } from '#proto/gen/guild/members/v1/admin.ts';
import { connect, TEST_OPERATOR } from '#test/network/grpc.ts';
import { failWrites } from '#test/postgres/failing-table.ts';
import { recordedEvents, type StoredEvent } from '#test/postgres/recorded-events.ts';
import { RESULT_SOURCE, TEST_ADMIN_SECRETS, TEST_SOURCE } from '#test/system/signed-calls.ts';
import { GUILD, newAccounts } from './fixture.ts';
import { ABOVE, chatIdOf, DECK, GROUP, OTHER } from './fixtures/crew.ts';
import { JobsFixture } from './fixtures/jobs.ts';

const KEY = TEST_SOURCE;
const SYSTEM = { kind: 'system', id: 'members' };

const fixture = new JobsFixture();
beforeAll(() => fixture.start());
afterEach(async () => {
  await fixture.calm();
  for (const schema of ['members', 'lookup']) {
    await fixture.query(`TRUNCATE ${schema}.events, ${schema}.event_counters`);
  }
});
afterAll(() => fixture.stop());

const events = (schema = 'members') => recordedEvents(fixture.database.url, schema, GUILD);
/** Returns the events without their numbers. */
const unnumbered = (recorded: StoredEvent[]) =>
  recorded.map(({ type, source, persons, data }) => ({ type, source, persons, data }));
const tasks = async () => (await fixture.query('SELECT 1 FROM members.role_tasks')).length;
const begun = () => fixture.query('SELECT 1 FROM members.role_changes');
const sync = (number: number, fields: object = {}, request: object = {}) =>
  fixture.post('/sync/roles', { guild_id: GUILD, chat_id: chatIdOf(number), ...fields }, request);

const rolesChanged = (number: number, data: object, source: object = KEY) => ({
  type: 'roles.changed',
  source,
  persons: [`chat:${chatIdOf(number)}`, `game:${number}`],
  data: { chat_id: chatIdOf(number), game_id: number, added: [], removed: [], failed: [], reason: 'bindings', ...data },
});

describe('the events of link changes that members requests from lookup', () => {
  test('have the key of the request as their source: link, unlink and redeem', async () => {
    const { chatId, gameId } = newAccounts();
    await fixture.link(chatId, gameId);
    await fixture.unlink({ chat_id: chatId });
    const { code } = await fixture.token(chatId);
    await fixture.redeem({ code }, gameId, { key: 'redeem' });
    await fixture.redeem({ code }, gameId, { key: 'redeem' });
    expect((await events('lookup')).map(({ type, source }) => [type, source])).toEqual([
      ['link.created', KEY],
      ['link.removed', KEY],
      ['link.created', KEY],
    ]);
  });

  test('have that key too if a worker finishes the change later', async () => {
    const { chatId, gameId } = newAccounts();
    await fixture.stopLookup();
    expect((await fixture.link(chatId, gameId)).status).toBe(503);
    await fixture.restartLookup();
    await expect
      .poll(async () => {
        await fixture.advance(5_000);
        return fixture.openIntents();
      })
      .toBe(0);
    expect(await events('lookup')).toMatchObject([{ type: 'link.created', source: KEY }]);
  });
});

describe('roles.changed', () => {
  test('has what the response of a sync has, and is recorded once for repeats of the request', async () => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.bindRank(ABOVE, { min: 10 });
    const response = await sync(1, {}, { key: 'sync' });
    const { added, removed, failed } = response.body.data;
    expect([added, failed.length]).toEqual([[DECK], 1]);
    await sync(1, {}, { key: 'sync' });
    expect(unnumbered(await events())).toEqual([rolesChanged(1, { added, removed, failed })]);
    expect(await begun()).toEqual([]);
  });

  test('is not recorded for dry runs and for roles that are right', async () => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 10 });
    await sync(1, { dry_run: true });
    expect(await events()).toEqual([]);
    await sync(1);
    await sync(1);
    expect(unnumbered(await events())).toEqual([rolesChanged(1, { added: [DECK] })]);
  });

  test('is recorded for a new link and for its removal, with the key of each request', async () => {
    await fixture.settle(1);
    await fixture.query('DELETE FROM lookup.links');
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.link(chatIdOf(1), 1);
    await expect.poll(tasks).toBe(0);
    await fixture.unlink({ game_id: 1 });
    expect(unnumbered(await events())).toEqual([
      rolesChanged(1, { added: [DECK] }, RESULT_SOURCE),
      {
        ...rolesChanged(1, { game_id: null, removed: [DECK], reason: 'unlinked' }, RESULT_SOURCE),
        persons: [`chat:${chatIdOf(1)}`],
      },
    ]);
  });

  test('has the service as its source if the task was queued without one', async () => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.query(
      `INSERT INTO members.role_tasks (guild_id, chat_id, version, created_at) VALUES ($1, $2, $3, clock_timestamp())`,
      [GUILD, chatIdOf(1), randomUUID()],
    );
    await expect.poll(tasks).toBe(0);
    expect(unnumbered(await events())).toEqual([rolesChanged(1, { added: [DECK] }, SYSTEM)]);
  });

  test('reports the failures of the first attempts at a task, and its success later', async () => {
    await fixture.settle(1);
    await fixture.query('DELETE FROM lookup.links');
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault('/roles/', { status: 503 });
    await fixture.link(chatIdOf(1), 1);
    const attempts = async () => (await fixture.query('SELECT attempts FROM members.role_tasks'))[0]?.['attempts'];
    await expect
      .poll(async () => {
        await fixture.advance(1_000);
        return attempts();
      })
      .toBeGreaterThan(4);
    const failed = [expect.objectContaining({ role_id: DECK, code: 'PLATFORM_ERROR' })];
    const reported = rolesChanged(1, { failed }, RESULT_SOURCE);
    expect(unnumbered(await events())).toEqual([reported, reported, reported]);
    await fixture.forget();
    await expect
      .poll(async () => {
        await fixture.advance(60_000);
        return tasks();
      })
      .toBe(0);
    expect(unnumbered(await events()).at(-1)).toEqual(rolesChanged(1, { added: [DECK] }, RESULT_SOURCE));
  });
});

describe('nickname.changed', () => {
  const nickname = (text: string | null, request: object = {}) =>
    fixture.post('/sync/nickname', { guild_id: GUILD, chat_id: chatIdOf(1), nickname: text }, request);

  test('has what the response has, and is recorded only if the nickname changed', async () => {
    await fixture.settle(1);
    const set = (await nickname('Ada', { key: 'set' })).body.data;
    await nickname('Ada', { key: 'set' });
    await nickname('Ada');
    const removed = (await nickname(null)).body.data;
    const event = { type: 'nickname.changed', source: KEY, persons: [`chat:${chatIdOf(1)}`] };
    expect(unnumbered(await events())).toEqual([
      { ...event, data: set },
      { ...event, data: removed },
    ]);
    expect(set).toEqual({ chat_id: chatIdOf(1), from: null, to: 'Ada' });
  });

  test('is not recorded if the platform rejects the change', async () => {
    await fixture.settle(1);
    await fixture.chat.fault('/members/', { status: 403 });
    expect((await nickname('Ada')).status).toBeGreaterThan(399);
    expect(await events()).toEqual([]);
  });
});

describe('sync.job.finished', () => {
  const finished = async () => (await events()).filter(({ type }) => type === 'sync.job.finished');
  /** The data of the event of a job, from the job as REST returns it. */
  function dataOf(id: string, job: Record<string, unknown>, cause: object | null = null) {
    const fields = Object.fromEntries(Object.entries(job).filter(([name]) => name !== 'errors'));
    return { job_id: id, game_group_id: GROUP, ...fields, cause };
  }

  test('follows the changes and failures of its members, all with the key that started the job', async () => {
    await fixture.settle(3);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.bindRank(ABOVE, { min: 10 });
    await sync(2);
    const before = (await events()).length;
    const id = await fixture.newJob();
    const job = await fixture.finished(id);
    expect(job).toMatchObject({ state: 'done', total: 3, done: 3, changed: 2, failed: 3 });
    const failed = [expect.objectContaining({ role_id: ABOVE, code: 'ROLE_ABOVE_BOT' })];
    const ofJob = unnumbered((await events()).slice(before));
    expect(ofJob.pop()).toEqual({
      type: 'sync.job.finished',
      source: RESULT_SOURCE,
      persons: [],
      data: dataOf(id, job),
    });
    expect(ofJob.toSorted((one, other) => one.data.game_id - other.data.game_id)).toEqual([
      rolesChanged(1, { added: [DECK], failed }, RESULT_SOURCE),
      rolesChanged(2, { failed }, RESULT_SOURCE),
      rolesChanged(3, { added: [DECK], failed }, RESULT_SOURCE),
    ]);
    await fixture.run();
    expect(await finished()).toHaveLength(2);
  });

  test('reports a job that failed for good, with the cause', async () => {
    await fixture.settle(2);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault('/guilds', { status: 503 });
    const id = await fixture.newJob();
    await fixture.paused(id);
    expect(await finished()).toEqual([]);
    await fixture.advance(24 * 3600_000);
    const job = await fixture.finished(id);
    const [cause] = job['errors'] as { code: string; message: string }[];
    expect(await finished()).toMatchObject([
      { source: RESULT_SOURCE, data: dataOf(id, job, { code: cause?.code, message: cause?.message }) },
    ]);
  });

  async function cancel(id: string): Promise<void> {
    const address = fixture.members.addresses.grpc ?? '';
    const { client, close } = connect(JobAdminServiceService, 'members', address, fixture.clock, TEST_ADMIN_SECRETS);
    const call = (admin: GrpcClient<typeof JobAdminServiceService>) =>
      admin.cancelJob({ guildId: GUILD, id, actor: 'Ada' });
    await call(client).finally(close);
  }

  test('reports a job that an operator cancelled, by the operator', async () => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault('/guilds', { status: 503 });
    const id = await fixture.newJob();
    await fixture.paused(id);
    await cancel(id);
    await expect(cancel(id)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await finished()).toMatchObject([
      {
        source: { kind: 'operator', id: TEST_OPERATOR },
        data: { job_id: id, state: 'failed', cause: { code: 'CANCELLED', message: 'An operator cancelled the job' } },
      },
    ]);
  });

  test('a job is not finished without its event', async () => {
    await fixture.settle(1);
    const repair = await failWrites(fixture.database.url, 'members.events', GUILD, 'statement');
    const id = await fixture.newJob();
    await expect.poll(async () => (await fixture.job(id))['done']).toBe(0);
    await expect
      .poll(async () => (await fixture.query('SELECT queue_attempts FROM members.sync_jobs WHERE id = $1', [id]))[0])
      .toMatchObject({ queue_attempts: 1 });
    expect((await fixture.job(id))['finished_at']).toBeNull();
    await repair();
    await fixture.advance(120_000);
    await fixture.finished(id);
    expect(await finished()).toHaveLength(1);
  });
});

test('syncs of many members of one guild at the same time number their events without gaps', async () => {
  await fixture.settle(12);
  await fixture.bindRank(DECK, { min: 10 });
  await fixture.bindRank(OTHER, { min: 10 });
  await Promise.all(Array.from({ length: 12 }, (_, index) => sync(index + 1)));
  const chatIds = (await events()).map(({ data }) => String(data.chat_id));
  expect(new Set(chatIds)).toEqual(new Set(Array.from({ length: 12 }, (_, index) => chatIdOf(index + 1))));
  expect(chatIds).toHaveLength(12);
});
