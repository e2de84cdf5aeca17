import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { scrape } from '#test/measure/metrics.ts';
import { chatIdOf, crew, DECK } from './fixtures/crew.ts';
import { JobsFixture } from './fixtures/jobs.ts';

const GIVE = 'PUT /api/v10/guilds/:guild/members/:user/roles/:role';

const fixture = new JobsFixture();
beforeAll(() => fixture.start());
afterEach(() => fixture.calm());
afterAll(() => fixture.stop());

describe('an outage', () => {
  test.each([
    ['the chat platform does not list members', () => fixture.chat.fault('/members', { status: 503 })],
    ['the chat platform does not grant roles', () => fixture.chat.fault('/roles/', { status: 503 })],
    ['the chat platform rejects calls with 429', () => fixture.chat.fault('/guilds', { status: 429, retry_after: 1 })],
    ['the game platform does not return ranks', () => fixture.game.fault('/memberships', { status: 503 })],
    ['the game platform resets connections', () => fixture.game.fault('/memberships', { reset: true })],
  ])('while %s the job is paused with a cause, and then continues by itself', async (_what, breakDown) => {
    await fixture.settle(5);
    await fixture.bindRank(DECK, { min: 10 });
    await breakDown();
    const id = await fixture.newJob();
    const job = await fixture.paused(id);
    expect(job['errors']).toEqual([
      expect.objectContaining({
        chat_id: null,
        role_id: null,
        code: expect.stringMatching(/PLATFORM_ERROR|UNAVAILABLE/) as string,
      }),
    ]);
    expect(job).toMatchObject({ total: 5, done: 0, changed: 0, finished_at: null });
    await fixture.forget();
    await fixture.advance(60_000);
    const done = await fixture.finished(id);
    expect(done).toMatchObject({ state: 'done', done: 5, failed: 0, errors: [] });
    expect([...(await fixture.roles()).values()]).toEqual(Array.from({ length: 5 }, () => [DECK]));
  });

  test('during a job keeps the progress, and the job continues there', async () => {
    await fixture.settle(5);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault(`/members/${chatIdOf(3)}/roles`, { status: 503 });
    const id = await fixture.newJob();
    expect(await fixture.paused(id)).toMatchObject({ done: 2, changed: 2, failed: 0 });
    await fixture.chat.forget();
    await fixture.advance(60_000);
    expect(await fixture.finished(id)).toMatchObject({ state: 'done', done: 5, changed: 5, failed: 0 });
    expect((await fixture.chat.calls())[GIVE]).toBe(3);
  });

  test('for a single member is reported after four attempts, and the job continues with the others', async () => {
    await fixture.settle(3);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault(`/members/${chatIdOf(2)}/roles`, { status: 500 });
    const id = await fixture.newJob();
    for (let attempts = 1; attempts <= 4; attempts++) {
      await expect
        .poll(async () => (await fixture.query('SELECT attempts FROM members.sync_jobs WHERE id = $1', [id]))[0])
        .toEqual({ attempts });
      await fixture.advance(60_000);
    }
    expect(await fixture.finished(id)).toMatchObject({
      done: 3,
      changed: 2,
      failed: 1,
      errors: [{ chat_id: chatIdOf(2), role_id: DECK, code: 'PLATFORM_ERROR' }],
    });
  });

  test('is not assumed when the game platform rejects one account: the job reports it and finishes', async () => {
    const world = crew(60);
    Object.assign(world.game.users[29] as object, { rejected: true });
    await fixture.settle(world);
    await fixture.bindRank(DECK, { min: 10 });
    const job = await fixture.run();
    expect(job).toMatchObject({ state: 'done', done: 60, changed: 59, failed: 1 });
    const message = expect.stringContaining('rejects') as string;
    expect(job['errors']).toEqual([{ chat_id: chatIdOf(30), role_id: null, code: 'PLATFORM_ERROR', message }]);
    expect((await fixture.roles()).get(chatIdOf(30))).toEqual([]);
    // The rejection is cached for ten minutes.
    await fixture.advance(600_000);
  });

  test('for fewer members each time is waited out without a pause', async () => {
    await fixture.settle(100);
    await fixture.bindRank(DECK, { min: 10 });
    // The first request for a page of fifty fails, and the second one succeeds.
    const before = (await scrape(fixture.members))('members_sync_job_pauses_total{code="PLATFORM_ERROR"}') ?? 0;
    await fixture.game.fault('/memberships', { status: 503, times: 1 });
    expect(await fixture.run()).toMatchObject({ state: 'done', done: 100, changed: 100, failed: 0 });
    const after = (await scrape(fixture.members))('members_sync_job_pauses_total{code="PLATFORM_ERROR"}') ?? 0;
    expect(after).toBe(before);
  });

  test('of a day ends the job, with a cause', async () => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault('/guilds', { status: 503 });
    const id = await fixture.newJob();
    await fixture.paused(id);
    await fixture.advance(24 * 3600_000);
    const job = await fixture.finished(id);
    expect(job).toMatchObject({ state: 'failed', done: 0, errors: [{ chat_id: null, code: 'PLATFORM_ERROR' }] });
    expect(Math.abs(Number(job['finished_at']) - (await fixture.databaseNow()) / 1000)).toBeLessThan(60);
  });

  test('does not end a job that has made progress since, and it continues at its position', async () => {
    await fixture.settle(4);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault(`/members/${chatIdOf(3)}/roles`, { status: 503 });
    const id = await fixture.newJob();
    await fixture.paused(id);
    // Older than a day, with progress in its last hour.
    const now = await fixture.databaseNow();
    await fixture.query(
      'UPDATE members.sync_jobs SET created_at = $2, started_at = $2, progressed_at = $3 WHERE id = $1',
      [id, new Date(now - 5 * 86_400_000), new Date(now - 3_600_000)],
    );
    const attempts = async () =>
      (await fixture.query('SELECT attempts FROM members.sync_jobs WHERE id = $1', [id]))[0]?.['attempts'];
    await fixture.advance(60_000);
    await expect.poll(attempts).toBe(2);
    expect(await fixture.job(id)).toMatchObject({ state: 'paused', done: 2 });
    await fixture.forget();
    await fixture.advance(60_000);
    expect(await fixture.finished(id)).toMatchObject({ state: 'done', done: 4, changed: 4, failed: 0 });
    expect((await fixture.chat.calls())[GIVE]).toBe(2);
  });
});

describe('a member that is unlinked or linked again while a job runs', () => {
  test('has no roles of the bindings if it was unlinked between the evaluation and the grant', async () => {
    await fixture.settle(2);
    await fixture.bindRank(DECK, { min: 10 });
    // The job has read links, listed and evaluated members, and waits for the grant of the first role.
    await fixture.chat.fault(`/members/${chatIdOf(1)}/roles`, { delay_ms: 2_000, times: 1 });
    const id = await fixture.newJob();
    await expect.poll(async () => (await fixture.chat.calls())[GIVE]).toBe(1);
    expect((await fixture.unlink({ chat_id: chatIdOf(2) })).status).toBe(200);
    expect(await fixture.finished(id)).toMatchObject({ state: 'done', done: 2, changed: 1, failed: 0 });
    expect((await fixture.roles()).get(chatIdOf(2))).toEqual([]);
    expect(await fixture.query('SELECT 1 FROM members.grants WHERE chat_id = $1', [chatIdOf(2)])).toEqual([]);
  });

  test('has no roles of the bindings if it was unlinked while its own role was granted', async () => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault(`/members/${chatIdOf(1)}/roles`, { delay_ms: 1_000, times: 1 });
    const id = await fixture.newJob();
    await expect.poll(async () => (await fixture.chat.calls())[GIVE]).toBe(1);
    expect((await fixture.unlink({ chat_id: chatIdOf(1) })).status).toBe(200);
    await fixture.finished(id);
    await expect.poll(async () => (await fixture.roles()).get(chatIdOf(1))).toEqual([]);
    expect(await fixture.query('SELECT 1 FROM members.grants')).toEqual([]);
  });

  test('has the roles that follow from its new link', async () => {
    const world = crew(2);
    world.game.users.push({ id: 99, name: 'Nobody', groups: [] });
    await fixture.settle(world);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault(`/members/${chatIdOf(1)}/roles`, { delay_ms: 2_000, times: 1 });
    const id = await fixture.newJob();
    await expect.poll(async () => (await fixture.chat.calls())[GIVE]).toBe(1);
    await fixture.unlink({ chat_id: chatIdOf(2) });
    await fixture.link(chatIdOf(2), 99);
    expect(await fixture.finished(id)).toMatchObject({ state: 'done', done: 2, changed: 1 });
    expect((await fixture.roles()).get(chatIdOf(2))).toEqual([]);
  });
});

describe('replicas', () => {
  let other: RunningService | undefined;
  afterEach(async () => {
    await other?.stop();
    other = undefined;
  });

  test('a replica that stops releases its job, and another continues it immediately', async () => {
    await fixture.settle(30);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault('/roles/', { delay_ms: 100 });
    const id = await fixture.newJob();
    await expect.poll(async () => Number((await fixture.job(id))['done'])).toBeGreaterThan(2);
    const stopped = fixture.members;
    other = await fixture.startMembers();
    fixture.members = other;
    await stopped.stop();
    await fixture.chat.forget();
    expect(await fixture.finished(id)).toMatchObject({ state: 'done', done: 30, changed: 30 });
    fixture.members = await fixture.startMembers();
  });

  test('the gauges of every replica count all jobs and have the age of the oldest one', async () => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault('/guilds', { status: 503 });
    const id = await fixture.newJob();
    await fixture.paused(id);
    const metrics = async () => {
      const all = await scrape(fixture.members);
      return [all('members_sync_jobs{state="paused"}'), all('members_sync_job_oldest_unfinished_seconds')];
    };
    await expect.poll(async () => (await metrics())[0]).toBe(1);
    const before = Number((await metrics())[1]);
    await fixture.advance(3_000);
    await expect.poll(async () => Number((await metrics())[1])).toBeGreaterThanOrEqual(before + 3);
    expect((await scrape(fixture.members))('members_sync_job_longest_stall_seconds')).toBeGreaterThanOrEqual(3);
    await fixture.chat.forget();
    await fixture.advance(60_000);
    await fixture.finished(id);
    await expect.poll(metrics).toEqual([0, 0]);
    const all = await scrape(fixture.members);
    expect(all('members_sync_job_members_total{outcome="done"}')).toBeGreaterThan(0);
    expect(all('members_sync_jobs_finished_total{outcome="done"}')).toBeGreaterThan(0);
    expect(all('members_sync_job_pauses_total{code="PLATFORM_ERROR"}')).toBeGreaterThan(0);
  });
});
