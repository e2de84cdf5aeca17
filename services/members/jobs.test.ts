import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service.ts';
import { Platform } from '#platforms/fixture.ts';
import { scrape } from '#test/metrics.ts';
import { GUILD, MembersFixture, OTHER_GUILD } from './fixture.ts';
import { ABOVE, chatIdOf, crew, DECK, GROUP, OTHER, rolesByMember, settle } from './fixtures/crew.ts';

const GIVE = 'PUT /api/v10/guilds/:guild/members/:user/roles/:role';
const TAKE = 'DELETE /api/v10/guilds/:guild/members/:user/roles/:role';
const MEMBER = 'GET /api/v10/guilds/:guild/members/:user';
const LIST = 'GET /api/v10/guilds/:guild/members';
const MEMBERSHIPS = 'GET /cloud/v2/groups/:group/memberships';

const fixture = new MembersFixture();
let chat: Platform;
let game: Platform;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  game = new Platform(fixture.simulators.game);
});
afterEach(async () => {
  await Promise.all([chat.forget(), game.forget()]);
  await expect.poll(unfinished, { timeout: 15_000 }).toBe(0);
  fixture.clock.advance(60_000);
  for (const table of ['lookup.links', 'bindings.bindings', 'members.grants', 'members.role_tasks']) {
    await fixture.query(`DELETE FROM ${table}`);
  }
});
afterAll(() => fixture.stop());

const unfinished = async () =>
  (await fixture.query('SELECT 1 FROM members.sync_jobs WHERE finished_at IS NULL')).length;
const start = (request: object = {}, fields: object = {}) =>
  fixture.post('/sync/group', { guild_id: GUILD, game_group_id: GROUP, ...fields }, request);
const get = (id: string, request: object = {}) => fixture.get(`/sync/jobs/${id}`, request);
const stateOf = async (id: string) => (await get(id)).body.data as Record<string, unknown>;

/** A job, once it is done or has failed. */
async function finished(id: string): Promise<Record<string, unknown>> {
  await expect
    .poll(async () => (await stateOf(id))['state'], { timeout: 60_000, interval: 200 })
    .toMatch(/done|failed/);
  return stateOf(id);
}
async function run(request: object = {}): Promise<Record<string, unknown>> {
  const answer = await start(request);
  expect(answer.status).toBe(202);
  return finished(answer.body.data.job_id);
}
/** Waits until the job is paused, and lets the time pass for which it waits. */
async function paused(id: string): Promise<Record<string, unknown>> {
  await expect.poll(async () => (await stateOf(id))['state'], { timeout: 15_000 }).toBe('paused');
  return stateOf(id);
}

describe('a job', () => {
  test('of 1,000 members asks the platforms as little as can be, and a second one writes nothing', async () => {
    await settle(fixture, [chat, game], crew(1_000));
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.bindRank(ABOVE, { min: 200 });
    const first = await run();
    expect(first).toMatchObject({ state: 'done', total: 1_000, done: 1_000, changed: 1_000, failed: 0, errors: [] });
    const roles = await rolesByMember(chat);
    expect([...roles.values()].every((held) => held.length === 1 && held[0] === DECK)).toBe(true);
    const calls = await chat.calls();
    // A full page says nothing about what follows it: the second call finds nobody.
    expect([calls[LIST], calls[GIVE], calls[TAKE]]).toEqual([2, 1_000, undefined]);
    // Who is to be changed is read live, under its lock; and the bot itself.
    expect(calls[MEMBER]).toBeLessThanOrEqual(1_000 + 3);
    expect((await game.calls())[MEMBERSHIPS]).toBe(20);
    console.log(`1,000 members with a change each: ${JSON.stringify({ ...calls, ...(await game.calls()) })}`);

    await Promise.all([chat.forget(), game.forget()]);
    fixture.clock.advance(60_000);
    expect(await run()).toMatchObject({ state: 'done', done: 1_000, changed: 0, failed: 0 });
    const again = await chat.calls();
    expect([again[LIST], again[GIVE], again[TAKE]]).toEqual([2, undefined, undefined]);
    // The bot's own roles alone.
    expect(again[MEMBER] ?? 0).toBeLessThanOrEqual(2);
    expect((await game.calls())[MEMBERSHIPS]).toBe(20);
  }, 120_000);

  test('concerns the roles of its group alone, and weighs all their bindings', async () => {
    const world = crew(3);
    world.chat.guilds[0]?.members[0]?.roles.push(DECK, OTHER);
    world.chat.guilds[0]?.members[1]?.roles.push(OTHER);
    await settle(fixture, [chat, game], world);
    // Nobody is to have OTHER, which another group governs; everybody DECK, by a binding of another group.
    await fixture.bindRank(DECK, { min: 200 });
    await fixture.bindRank(DECK, { min: 0, max: 0, groupId: 777 });
    await fixture.bindRank(OTHER, { min: 200, groupId: 777 });
    // Given by a sync once; of another group all the same.
    await fixture.query('INSERT INTO members.grants VALUES ($1, $2, $3, now())', [GUILD, chatIdOf(1), OTHER]);
    expect(await run()).toMatchObject({ state: 'done', total: 3, done: 3, changed: 2 });
    expect(await rolesByMember(chat)).toEqual(
      new Map([
        [chatIdOf(1), [DECK, OTHER]],
        [chatIdOf(2), [OTHER, DECK]],
        [chatIdOf(3), [DECK]],
      ]),
    );
  });

  test('tells what it could not do, without calls that would be refused', async () => {
    const world = crew(3);
    world.chat.guilds[0]?.members[2]?.roles.push(ABOVE);
    await settle(fixture, [chat, game], world);
    await fixture.bindRank(ABOVE, { min: 10 });
    const job = await run();
    const error = (number: number) => ({
      chat_id: chatIdOf(number),
      role_id: ABOVE,
      code: 'ROLE_ABOVE_BOT',
      message: "The role Role 8 is not below the bot's highest role",
    });
    expect(job).toMatchObject({ state: 'done', done: 3, changed: 0, failed: 2, errors: [error(1), error(2)] });
    expect((await chat.calls())[GIVE]).toBeUndefined();
  });

  test('of a group that no binding names is done without asking a platform', async () => {
    await settle(fixture, [chat, game], crew(3));
    await fixture.bindRank(OTHER, { min: 10, groupId: 777 });
    expect(await run()).toMatchObject({ state: 'done', total: 3, done: 3, changed: 0 });
    expect([await chat.calls(), await game.calls()]).toEqual([{}, {}]);
  });

  test('counts who is verified and not in the guild at its end, and passes over who is not verified', async () => {
    await settle(fixture, [chat, game], crew(4));
    await fixture.query('DELETE FROM lookup.links WHERE game_id = 4');
    await fixture.linkPastMembers('930000000000000009', 9);
    await fixture.bindRank(DECK, { min: 10 });
    expect(await run()).toMatchObject({ state: 'done', total: 4, done: 4, changed: 3 });
    expect((await rolesByMember(chat)).get(chatIdOf(4))).toEqual([]);
  });
});

describe('POST /sync/group and GET /sync/jobs/:jobId', () => {
  test('tell of a job from its start to its end, to its own guild alone', async () => {
    await settle(fixture, [chat, game], crew(2));
    await fixture.bindRank(DECK, { min: 10 });
    const answer = await start();
    expect(answer.body).toEqual({
      status: 'success',
      code: 202,
      message: 'Group synchronisation queued',
      data: { job_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string, total: 2 },
    });
    const id = answer.body.data.job_id as string;
    await finished(id);
    const now = Math.floor(fixture.clock.now() / 1000);
    expect((await get(id)).body).toMatchObject({
      status: 'success',
      code: 200,
      message: 'Job found',
      data: { state: 'done', total: 2, done: 2, failed: 0, errors: [], started_at: now, finished_at: now },
    });
    expect((await get(id, { guildId: OTHER_GUILD })).status).toBe(404);
    expect((await get(id.replace(/^./, (digit) => (digit === '0' ? '1' : '0')))).body.details.code).toBe('NOT_FOUND');
    const wrong = await get('7');
    expect([wrong.status, wrong.body.details.errors]).toEqual([
      400,
      [{ path: 'path.jobId', message: 'must be a UUID' }],
    ]);
  });

  test('refuse what does not fit', async () => {
    const answer = await fixture.post('/sync/group', { guild_id: GUILD, game_group_id: 'x' });
    expect([answer.status, answer.body.details.errors[0].path]).toEqual([400, 'body.game_group_id']);
    expect((await fixture.post('/sync/group', { guild_id: OTHER_GUILD, game_group_id: 1 })).status).toBe(403);
  });

  test('however many ask at once, one job runs and all are told of it; another group has its own', async () => {
    await settle(fixture, [chat, game], crew(2));
    await fixture.bindRank(DECK, { min: 10 });
    await chat.fault('/guilds', { status: 503 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => start()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const ids = new Set(answers.map(({ body }) => body.data.job_id as string));
    expect(ids.size).toBe(1);
    const [id = ''] = ids;
    await paused(id);
    expect((await start()).body.data).toEqual({ job_id: id, total: 2 });
    const other = await start({}, { game_group_id: 777 });
    expect(other.body.data.job_id).not.toBe(id);
    await chat.forget();
    fixture.clock.advance(60_000);
    await finished(id);
    const next = await start();
    expect(next.body.data.job_id).not.toBe(id);
    await finished(next.body.data.job_id);
  });

  test('a repeat with its Idempotency-Key is told of the first job, also when that is done', async () => {
    await settle(fixture, [chat, game], crew(1));
    const first = await start({ key: 'group' });
    await finished(first.body.data.job_id);
    const repeat = await start({ key: 'group' });
    expect(repeat.body).toEqual(first.body);
    expect(repeat.headers.get('idempotency-replayed')).toBe('true');
  });

  test('a guild has twenty jobs under way at most', async () => {
    await chat.fault('/guilds', { status: 503 });
    await fixture.query(
      `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, due_at, created_at)
       SELECT $1, gen_random_uuid(), n, 'paused', 0, 'infinity', now() FROM generate_series(1000, 1019) n`,
      [GUILD],
    );
    const refused = await start();
    expect([refused.status, refused.body.details.code]).toEqual([409, 'CONFLICT']);
    expect((await start({}, { game_group_id: 1000 })).status).toBe(202);
    await fixture.query('DELETE FROM members.sync_jobs WHERE game_group_id BETWEEN 1000 AND 1019');
  });
});

describe('an outage', () => {
  test.each([
    ['the chat platform lists nobody', () => chat.fault('/members', { status: 503 })],
    ['the chat platform gives no role', () => chat.fault('/roles/', { status: 503 })],
    ['the chat platform wants no calls', () => chat.fault('/guilds', { status: 429, retry_after: 1 })],
    ['the game platform tells no ranks', () => game.fault('/memberships', { status: 503 })],
    ['the game platform cuts the connection', () => game.fault('/memberships', { reset: true })],
  ])('while %s the job is paused and says why, and goes on by itself', async (_what, breakDown) => {
    await settle(fixture, [chat, game], crew(5));
    await fixture.bindRank(DECK, { min: 10 });
    await breakDown();
    const { job_id: id } = (await start()).body.data as { job_id: string };
    const job = await paused(id);
    expect(job['errors']).toEqual([
      expect.objectContaining({
        chat_id: null,
        role_id: null,
        code: expect.stringMatching(/PLATFORM_ERROR|UNAVAILABLE/) as string,
      }),
    ]);
    expect(job).toMatchObject({ total: 5, done: 0, changed: 0, finished_at: null });
    await Promise.all([chat.forget(), game.forget()]);
    fixture.clock.advance(60_000);
    const done = await finished(id);
    expect(done).toMatchObject({ state: 'done', done: 5, failed: 0, errors: [] });
    expect([...(await rolesByMember(chat)).values()]).toEqual(Array.from({ length: 5 }, () => [DECK]));
  });

  test('in the middle leaves what is done done, and the job goes on from there', async () => {
    await settle(fixture, [chat, game], crew(5));
    await fixture.bindRank(DECK, { min: 10 });
    await chat.fault(`/members/${chatIdOf(3)}/roles`, { status: 503 });
    const { job_id: id } = (await start()).body.data as { job_id: string };
    expect(await paused(id)).toMatchObject({ done: 2, changed: 2, failed: 0 });
    await chat.forget();
    fixture.clock.advance(60_000);
    expect(await finished(id)).toMatchObject({ state: 'done', done: 5, changed: 5, failed: 0 });
    expect((await chat.calls())[GIVE]).toBe(3);
  });

  test('that concerns one member alone is told, and keeps nobody else waiting for ever', async () => {
    await settle(fixture, [chat, game], crew(3));
    await fixture.bindRank(DECK, { min: 10 });
    await chat.fault(`/members/${chatIdOf(2)}/roles`, { status: 500 });
    const { job_id: id } = (await start()).body.data as { job_id: string };
    for (let attempts = 1; attempts <= 4; attempts++) {
      await expect
        .poll(async () => (await fixture.query('SELECT attempts FROM members.sync_jobs WHERE id = $1', [id]))[0])
        .toEqual({ attempts });
      fixture.clock.advance(60_000);
    }
    expect(await finished(id)).toMatchObject({
      done: 3,
      changed: 2,
      failed: 1,
      errors: [{ chat_id: chatIdOf(2), role_id: DECK, code: 'PLATFORM_ERROR' }],
    });
  });

  test('of a day ends the job, which tells why', async () => {
    await settle(fixture, [chat, game], crew(1));
    await fixture.bindRank(DECK, { min: 10 });
    await chat.fault('/guilds', { status: 503 });
    const { job_id: id } = (await start()).body.data as { job_id: string };
    await paused(id);
    fixture.clock.advance(24 * 3600_000);
    const job = await finished(id);
    expect(job).toMatchObject({ state: 'failed', done: 0, errors: [{ chat_id: null, code: 'PLATFORM_ERROR' }] });
    expect(job['finished_at']).toBe(Math.floor(fixture.clock.now() / 1000));
  });
});

describe('a member that is unlinked or linked anew while a job is at work', () => {
  test('ends without the roles of the bindings, where it was unlinked between reading and giving', async () => {
    await settle(fixture, [chat, game], crew(2));
    await fixture.bindRank(DECK, { min: 10 });
    // The job has read links, listed members and weighed them, and waits for the first one's role.
    await chat.fault(`/members/${chatIdOf(1)}/roles`, { delay_ms: 2_000, times: 1 });
    const { job_id: id } = (await start()).body.data as { job_id: string };
    await expect.poll(async () => (await chat.calls())[GIVE]).toBe(1);
    expect((await fixture.unlink({ chat_id: chatIdOf(2) })).status).toBe(200);
    expect(await finished(id)).toMatchObject({ state: 'done', done: 2, changed: 1, failed: 0 });
    expect((await rolesByMember(chat)).get(chatIdOf(2))).toEqual([]);
    expect(await fixture.query('SELECT 1 FROM members.grants WHERE chat_id = $1', [chatIdOf(2)])).toEqual([]);
  });

  test('ends without them where it was unlinked while its own role was being given', async () => {
    await settle(fixture, [chat, game], crew(1));
    await fixture.bindRank(DECK, { min: 10 });
    await chat.fault(`/members/${chatIdOf(1)}/roles`, { delay_ms: 1_000, times: 1 });
    const { job_id: id } = (await start()).body.data as { job_id: string };
    await expect.poll(async () => (await chat.calls())[GIVE]).toBe(1);
    expect((await fixture.unlink({ chat_id: chatIdOf(1) })).status).toBe(200);
    await finished(id);
    await expect.poll(async () => (await rolesByMember(chat)).get(chatIdOf(1)), { timeout: 10_000 }).toEqual([]);
    expect(await fixture.query('SELECT 1 FROM members.grants')).toEqual([]);
  });

  test('has what its new link is to have', async () => {
    const world = crew(2);
    world.game.users.push({ id: 99, name: 'Nobody', groups: [] });
    await settle(fixture, [chat, game], world);
    await fixture.bindRank(DECK, { min: 10 });
    await chat.fault(`/members/${chatIdOf(1)}/roles`, { delay_ms: 2_000, times: 1 });
    const { job_id: id } = (await start()).body.data as { job_id: string };
    await expect.poll(async () => (await chat.calls())[GIVE]).toBe(1);
    await fixture.unlink({ chat_id: chatIdOf(2) });
    await fixture.link(chatIdOf(2), 99);
    expect(await finished(id)).toMatchObject({ state: 'done', done: 2, changed: 1 });
    expect((await rolesByMember(chat)).get(chatIdOf(2))).toEqual([]);
  });
});

describe('replicas', () => {
  let other: RunningService | undefined;
  afterEach(async () => {
    await other?.stop();
    other = undefined;
  });

  test('a replica that stops lets go of its job, and another goes on at once', async () => {
    await settle(fixture, [chat, game], crew(30));
    await fixture.bindRank(DECK, { min: 10 });
    await chat.fault('/roles/', { delay_ms: 100 });
    const { job_id: id } = (await start()).body.data as { job_id: string };
    await expect.poll(async () => Number((await stateOf(id))['done'])).toBeGreaterThan(2);
    const stopped = fixture.members;
    other = await fixture.startMembers();
    fixture.members = other;
    await stopped.stop();
    await chat.forget();
    expect(await finished(id)).toMatchObject({ state: 'done', done: 30, changed: 30 });
    fixture.members = await fixture.startMembers();
  });

  test('jobs are counted in gauges of every replica, with the age of the oldest', async () => {
    await settle(fixture, [chat, game], crew(1));
    await fixture.bindRank(DECK, { min: 10 });
    await chat.fault('/guilds', { status: 503 });
    const { job_id: id } = (await start()).body.data as { job_id: string };
    await paused(id);
    const metrics = async () => {
      const all = await scrape(fixture.members);
      return [all('members_sync_jobs{state="paused"}'), all('members_sync_job_oldest_unfinished_seconds')];
    };
    await expect.poll(metrics).toEqual([1, 0]);
    fixture.clock.advance(3_000);
    expect(await metrics()).toEqual([1, 3]);
    await chat.forget();
    fixture.clock.advance(60_000);
    await finished(id);
    await expect.poll(metrics).toEqual([0, 0]);
    const all = await scrape(fixture.members);
    expect(all('members_sync_job_members_total{outcome="done"}')).toBeGreaterThan(0);
    expect(all('members_sync_jobs_finished_total{outcome="done"}')).toBeGreaterThan(0);
    expect(all('members_sync_job_pauses_total{code="PLATFORM_ERROR"}')).toBeGreaterThan(0);
  });
});
