import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { GUILD, OTHER_GUILD } from './fixture.ts';
import { ABOVE, chatIdOf, crew, DECK, OTHER } from './fixtures/crew.ts';
import { JobsFixture } from './fixtures/jobs.ts';

const GIVE = 'PUT /api/v10/guilds/:guild/members/:user/roles/:role';
const TAKE = 'DELETE /api/v10/guilds/:guild/members/:user/roles/:role';
const MEMBER = 'GET /api/v10/guilds/:guild/members/:user';
const LIST = 'GET /api/v10/guilds/:guild/members';
const MEMBERSHIPS = 'GET /cloud/v2/groups/:group/memberships';

const fixture = new JobsFixture();
beforeAll(() => fixture.start());
afterEach(() => fixture.calm());
afterAll(() => fixture.stop());

describe('a job', () => {
  test('of 1,000 members makes as few platform calls as possible, and a second one writes nothing', async () => {
    await fixture.settle(1_000);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.bindRank(ABOVE, { min: 200 });
    const first = await fixture.run();
    expect(first).toMatchObject({ state: 'done', total: 1_000, done: 1_000, changed: 1_000, failed: 0, errors: [] });
    const roles = await fixture.roles();
    expect([...roles.values()].every((held) => held.length === 1 && held[0] === DECK)).toBe(true);
    const calls = await fixture.chat.calls();
    // After a full page there may be another one: the second call finds no members.
    expect([calls[LIST], calls[GIVE], calls[TAKE]]).toEqual([2, 1_000, undefined]);
    // Each member that is changed is read live under its lock, and so is the bot.
    expect(calls[MEMBER]).toBeLessThanOrEqual(1_000 + 3);
    expect((await fixture.game.calls())[MEMBERSHIPS]).toBe(20);
    console.log(`1,000 members with a change each: ${JSON.stringify({ ...calls, ...(await fixture.game.calls()) })}`);

    await fixture.forget();
    await fixture.advance(60_000);
    expect(await fixture.run()).toMatchObject({ state: 'done', done: 1_000, changed: 0, failed: 0 });
    const again = await fixture.chat.calls();
    expect([again[LIST], again[GIVE], again[TAKE]]).toEqual([2, undefined, undefined]);
    // Only the bot's own roles.
    expect(again[MEMBER] ?? 0).toBeLessThanOrEqual(2);
    expect((await fixture.game.calls())[MEMBERSHIPS]).toBe(20);
  }, 300_000);

  test('changes only roles that its group governs, and evaluates all bindings of these', async () => {
    const world = crew(3);
    world.chat.guilds[0]?.members[0]?.roles.push(DECK, OTHER);
    world.chat.guilds[0]?.members[1]?.roles.push(OTHER);
    await fixture.settle(world);
    // No member may have OTHER, which another group governs; all have DECK, by a binding of another group.
    await fixture.bindRank(DECK, { min: 200 });
    await fixture.bindRank(DECK, { min: 0, max: 0, groupId: 777 });
    await fixture.bindRank(OTHER, { min: 200, groupId: 777 });
    // A sync granted it, but another group governs it.
    await fixture.query('INSERT INTO members.grants VALUES ($1, $2, $3, now())', [GUILD, chatIdOf(1), OTHER]);
    expect(await fixture.run()).toMatchObject({ state: 'done', total: 3, done: 3, changed: 2 });
    expect(await fixture.roles()).toEqual(
      new Map([
        [chatIdOf(1), [DECK, OTHER]],
        [chatIdOf(2), [OTHER, DECK]],
        [chatIdOf(3), [DECK]],
      ]),
    );
  });

  test('reports the first hundred errors, and the number of members whose errors are left out', async () => {
    await fixture.settle(102);
    await fixture.bindRank(ABOVE, { min: 10 });
    const job = await fixture.run();
    expect(job).toMatchObject({ state: 'done', done: 102, failed: 102 });
    const errors = job['errors'] as object[];
    expect([errors.length, errors[99]]).toEqual([101, expect.objectContaining({ chat_id: chatIdOf(100) })]);
    const message = 'The errors of 2 more members are left out';
    expect(errors[100]).toEqual({ chat_id: null, role_id: null, code: 'ERRORS_LEFT_OUT', message });
  });

  test('reports roles that the bot cannot change, without calls that would be rejected', async () => {
    const world = crew(3);
    world.chat.guilds[0]?.members[2]?.roles.push(ABOVE);
    await fixture.settle(world);
    await fixture.bindRank(ABOVE, { min: 10 });
    const job = await fixture.run();
    const error = (number: number) => ({
      chat_id: chatIdOf(number),
      role_id: ABOVE,
      code: 'ROLE_ABOVE_BOT',
      message: "The role Role 8 is not below the bot's highest role",
    });
    expect(job).toMatchObject({ state: 'done', done: 3, changed: 0, failed: 2, errors: [error(1), error(2)] });
    expect((await fixture.chat.calls())[GIVE]).toBeUndefined();
  });

  test('of a group without bindings is done without platform calls', async () => {
    await fixture.settle(3);
    await fixture.bindRank(OTHER, { min: 10, groupId: 777 });
    expect(await fixture.run()).toMatchObject({ state: 'done', total: 3, done: 3, changed: 0 });
    expect([await fixture.chat.calls(), await fixture.game.calls()]).toEqual([{}, {}]);
  });

  test('counts verified players that are not in the guild as done at its end, and skips members that are not verified', async () => {
    await fixture.settle(4);
    await fixture.query('DELETE FROM lookup.links WHERE game_id = 4');
    await fixture.linkPastMembers('930000000000000009', 9);
    await fixture.bindRank(DECK, { min: 10 });
    expect(await fixture.run()).toMatchObject({ state: 'done', total: 4, done: 4, changed: 3 });
    expect((await fixture.roles()).get(chatIdOf(4))).toEqual([]);
  });
});

describe('POST /sync/group and GET /sync/jobs/:jobId', () => {
  test('show a job from its start to its end, only to its own guild', async () => {
    await fixture.settle(2);
    await fixture.bindRank(DECK, { min: 10 });
    const response = await fixture.startJob();
    expect(response.body).toEqual({
      status: 'success',
      code: 202,
      message: 'Group synchronisation queued',
      data: { job_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string, total: 2 },
    });
    const id = response.body.data.job_id as string;
    await fixture.finished(id);
    const now = Math.floor((await fixture.databaseNow()) / 1000);
    expect((await fixture.getJob(id)).body).toMatchObject({
      status: 'success',
      code: 200,
      message: 'Job found',
      data: { state: 'done', total: 2, done: 2, failed: 0, errors: [] },
    });
    const { started_at: startedAt, finished_at: finishedAt } = await fixture.job(id);
    for (const time of [startedAt, finishedAt]) expect(Math.abs(Number(time) - now)).toBeLessThan(60);
    expect(finishedAt).toBeGreaterThanOrEqual(Number(startedAt));
    expect((await fixture.getJob(id, { guildId: OTHER_GUILD })).status).toBe(404);
    expect((await fixture.getJob(id.replace(/^./, (digit) => (digit === '0' ? '1' : '0')))).body.details.code).toBe(
      'NOT_FOUND',
    );
    const wrong = await fixture.getJob('7');
    expect([wrong.status, wrong.body.details.errors]).toEqual([
      400,
      [{ path: 'path.jobId', message: 'must be a UUID' }],
    ]);
  });

  test('reject invalid requests', async () => {
    const response = await fixture.post('/sync/group', { guild_id: GUILD, game_group_id: 'x' });
    expect([response.status, response.body.details.errors[0].path]).toEqual([400, 'body.game_group_id']);
    expect((await fixture.post('/sync/group', { guild_id: OTHER_GUILD, game_group_id: 1 })).status).toBe(403);
  });

  test('concurrent requests start one job and all get its ID; another group has its own job', async () => {
    await fixture.settle(2);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.chat.fault('/guilds', { status: 503 });
    const responses = await Promise.all(Array.from({ length: 8 }, () => fixture.startJob()));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([202]));
    const ids = new Set(responses.map(({ body }) => body.data.job_id as string));
    expect(ids.size).toBe(1);
    const [id = ''] = ids;
    await fixture.paused(id);
    expect((await fixture.startJob()).body.data).toEqual({ job_id: id, total: 2 });
    const other = await fixture.startJob({}, { game_group_id: 777 });
    expect(other.body.data.job_id).not.toBe(id);
    await fixture.chat.forget();
    await fixture.advance(60_000);
    await fixture.finished(id);
    const next = await fixture.startJob();
    expect(next.body.data.job_id).not.toBe(id);
    await fixture.finished(next.body.data.job_id);
  });

  test('a repeat with the same Idempotency-Key gets the first job, also when that is done', async () => {
    await fixture.settle(1);
    const first = await fixture.startJob({ key: 'group' });
    await fixture.finished(first.body.data.job_id);
    const repeat = await fixture.startJob({ key: 'group' });
    expect(repeat.body).toEqual(first.body);
    expect(repeat.headers.get('idempotency-replayed')).toBe('true');
  });

  test('a guild has at most twenty unfinished jobs', async () => {
    await fixture.chat.fault('/guilds', { status: 503 });
    await fixture.query(
      `INSERT INTO members.sync_jobs (guild_id, id, game_group_id, state, total, due_at, created_at)
       SELECT $1, gen_random_uuid(), n, 'paused', 0, 'infinity', now() FROM generate_series(1000, 1019) n`,
      [GUILD],
    );
    const rejected = await fixture.startJob();
    expect([rejected.status, rejected.body.details.code]).toEqual([409, 'CONFLICT']);
    expect((await fixture.startJob({}, { game_group_id: 1000 })).status).toBe(202);
    await fixture.query('DELETE FROM members.sync_jobs WHERE game_group_id BETWEEN 1000 AND 1019');
  });
});
