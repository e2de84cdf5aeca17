import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { GUILD, OTHER_GUILD } from './fixture.ts';
import { ABOVE, chatIdOf, crew, DECK, GROUP, OTHER } from './fixtures/crew.ts';
import { JobsFixture, until } from './fixtures/jobs.ts';

const fixture = new JobsFixture();

beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
afterEach(async () => {
  await fixture.forget();
  await until(async () => {
    const open = await fixture.query('SELECT 1 FROM members.binding_previews WHERE finished_at IS NULL');
    if (open.length > 0) await fixture.advance(30_000);
    return open.length === 0;
  });
  await fixture.query('DELETE FROM members.binding_previews');
  await fixture.calm();
});

const NEW_RANK = {
  guild_id: GUILD,
  chat_role_id: DECK,
  binding_type: 'group_rank',
  game_group_id: GROUP,
  min_rank: 10,
  max_rank: 255,
};
const preview = (body: object, request: Parameters<JobsFixture['post']>[2] = {}) =>
  fixture.post('/bindings/preview', body, request);
/** Starts a preview and waits for its end. */
async function previewed(body: object) {
  const response = await preview(body);
  expect([response.status, response.body.message]).toEqual([202, 'Preview queued']);
  return fixture.finished(response.body.data.job_id);
}
const bindingId = async () => Number((await fixture.query('SELECT id FROM bindings.bindings'))[0]?.['id']);
/** Stores a role binding, and returns a change of it, whose check needs no platform. */
async function storedChange() {
  await fixture.bindRank(OTHER, { min: 10 });
  return { guild_id: GUILD, binding_id: await bindingId(), min_rank: 9 };
}
const memberWith = (number: number, change: 'gained' | 'lost') => ({
  chat_id: chatIdOf(number),
  username: `user${number}`,
  role_id: DECK,
  change,
});
const events = async () =>
  (
    await fixture.query('SELECT last_number::int AS number FROM members.event_counters WHERE guild_id = $1', [GUILD])
  )[0];
const writes = async () =>
  Object.entries(await fixture.chat.calls()).filter(([call]) => !call.startsWith('GET')).length;

describe('POST /bindings/preview', () => {
  test('a new binding: counts and names who would gain the role, and changes nothing', async () => {
    const world = crew(5);
    world.game.users[2]?.groups.splice(0);
    await fixture.settle(world);
    const before = [await fixture.roles(), await events()];
    const job = await previewed(NEW_RANK);
    expect(job).toEqual({
      state: 'done',
      total: 5,
      done: 5,
      changed: 4,
      failed: 0,
      errors: [],
      started_at: expect.any(Number),
      finished_at: expect.any(Number),
      result: {
        roles: [{ role_id: DECK, gained: 4, lost: 0, unknown: 0 }],
        members: [1, 2, 4, 5].map((number) => memberWith(number, 'gained')),
      },
    });
    expect([await fixture.roles(), await events()]).toEqual(before);
    expect(await writes()).toBe(0);
    expect(await fixture.query('SELECT 1 FROM bindings.bindings UNION ALL SELECT 1 FROM members.grants')).toEqual([]);
  });

  test('a change of a stored binding: counts who would lose the role, with all other bindings of it', async () => {
    const world = crew(4);
    for (const member of world.chat.guilds[0]?.members ?? []) member.roles.push(DECK);
    Object.assign(world.game.users[1]?.groups[0] ?? {}, { ranks: [200] });
    world.game.groups[0]?.roles.push({ id: 50200, name: 'Captain', rank: 200 });
    await fixture.settle(world);
    await fixture.bindRank(DECK, { min: 1 });
    const job = await previewed({ guild_id: GUILD, binding_id: await bindingId(), min_rank: 100 });
    expect(job).toMatchObject({
      state: 'done',
      changed: 3,
      result: {
        roles: [{ role_id: DECK, gained: 0, lost: 3, unknown: 0 }],
        members: [1, 3, 4].map((number) => memberWith(number, 'lost')),
      },
    });
    expect((await fixture.query('SELECT min_rank FROM bindings.bindings'))[0]).toEqual({ min_rank: 1 });
  });

  test('agrees with what a sync does after the binding was saved', async () => {
    const world = crew(30);
    for (const [index, user] of world.game.users.entries()) if (index % 3 === 0) user.groups.splice(0);
    for (const [index, member] of (world.chat.guilds[0]?.members ?? []).entries()) {
      if (index % 5 === 0) member.roles.push(DECK);
    }
    await fixture.settle(world);
    const { result } = (await previewed(NEW_RANK)) as { result: { roles: { gained: number; lost: number }[] } };
    const before = await fixture.roles();
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.run();
    const after = await fixture.roles();
    const has = (roles: Map<string, string[]>, id: string) => roles.get(id)?.includes(DECK) ?? false;
    const gained = [...after.keys()].filter((id) => has(after, id) && !has(before, id)).length;
    const lost = [...after.keys()].filter((id) => !has(after, id) && has(before, id)).length;
    expect(result.roles).toMatchObject([{ gained, lost }]);
    expect(gained * lost).toBeGreaterThan(0);
  });

  test('names the first 100 members and counts all', async () => {
    await fixture.settle(250);
    const { result } = (await previewed(NEW_RANK)) as { result: { roles: unknown[]; members: unknown[] } };
    expect([result.roles, result.members.length]).toEqual([[{ role_id: DECK, gained: 250, lost: 0, unknown: 0 }], 100]);
  });

  test('names with markup and four-byte characters are returned unchanged', async () => {
    const world = crew(1);
    Object.assign(world.chat.guilds[0]?.members[0] ?? {}, { username: '<b>🦈</b>' });
    await fixture.settle(world);
    expect(await previewed(NEW_RANK)).toMatchObject({ result: { members: [{ username: '<b>🦈</b>' }] } });
  });

  test('a newer preview of the guild ends an unfinished one', async () => {
    await fixture.settle(3);
    const change = await storedChange();
    await fixture.chat.fault('/members', { status: 500 });
    const first = (await preview(change)).body.data.job_id as string;
    await fixture.paused(first);
    const second = (await preview(change)).body.data.job_id as string;
    expect(await fixture.job(first)).toMatchObject({ state: 'failed', errors: [{ code: 'REPLACED' }] });
    await fixture.forget();
    await until(async () => {
      await fixture.advance(30_000);
      return (await fixture.job(second))['state'] === 'done';
    });
  });

  test('of concurrent previews of a guild one is left, and at most 20 are stored', async () => {
    await fixture.settle(2);
    const responses = await Promise.all(Array.from({ length: 30 }, () => preview(NEW_RANK)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([202]));
    const stored = await fixture.query('SELECT finished_at FROM members.binding_previews');
    expect(stored).toHaveLength(20);
  });

  test('repeating a request with its idempotency key starts no second preview', async () => {
    await fixture.settle(1);
    const key = randomUUID();
    const first = await preview(NEW_RANK, { key });
    expect((await preview(NEW_RANK, { key })).body).toEqual(first.body);
    expect(await fixture.query('SELECT 1 FROM members.binding_previews')).toHaveLength(1);
    await fixture.finished(first.body.data.job_id);
  });

  test('a preview of another guild is NOT_FOUND', async () => {
    await fixture.settle(1);
    const { job_id } = (await preview(NEW_RANK)).body.data;
    const response = await fixture.getJob(job_id, { guildId: OTHER_GUILD });
    expect([response.status, response.body.details.code]).toEqual([404, 'NOT_FOUND']);
    await fixture.finished(job_id);
  });
});

describe('rejects', () => {
  test.each([
    ['neither a binding nor an ID', { guild_id: GUILD }, ['body']],
    ['both', { ...NEW_RANK, binding_id: 1 }, ['body']],
    ['a new binding without its role', { ...NEW_RANK, chat_role_id: undefined }, ['body.chat_role_id']],
    ['a group_rank without ranks', { ...NEW_RANK, min_rank: null, max_rank: null }, ['body.min_rank', 'body.max_rank']],
    ['an inverted range', { ...NEW_RANK, min_rank: 20, max_rank: 10 }, ['body.max_rank']],
    ['a change of nothing', { guild_id: GUILD, binding_id: 1 }, ['body']],
    [
      'several faults together',
      { ...NEW_RANK, chat_role_id: 'x', game_group_id: -1, min_rank: 256 },
      ['body.chat_role_id', 'body.game_group_id', 'body.max_rank', 'body.min_rank'],
    ],
  ])('%s', async (_what, body, paths) => {
    const response = await preview(body);
    const found = response.body.details.errors.map(({ path }: { path: string }) => path);
    expect([response.status, found.sort()]).toEqual([400, [...paths].sort()]);
  });

  test('what adding and updating reject', async () => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 1, max: 50 });
    const id = await bindingId();
    const outcomes = await Promise.all(
      [
        { ...NEW_RANK, game_group_id: 999 },
        { ...NEW_RANK, chat_role_id: ABOVE },
        { ...NEW_RANK, chat_role_id: '919999999999999999' },
        { guild_id: GUILD, binding_id: 999_999, min_rank: 2 },
        { guild_id: GUILD, binding_id: id, min_rank: 51 },
      ].map((body) => preview(body)),
    );
    expect(outcomes.map(({ status, body }) => [status, body.details.code])).toEqual([
      [400, 'INVALID_TARGET'],
      [422, 'NOT_APPLICABLE'],
      [400, 'INVALID_REQUEST'],
      [404, 'NOT_FOUND'],
      [400, 'INVALID_REQUEST'],
    ]);
    expect(await fixture.query('SELECT 1 FROM members.binding_previews')).toEqual([]);
  });
});

describe('while something fails', () => {
  test('a platform that fails at the check is a 502, and nothing is queued', async () => {
    await fixture.settle(1);
    await fixture.advance(3_600_000);
    await fixture.game.fault('/v1/groups', { status: 500 });
    expect((await preview({ ...NEW_RANK, game_group_id: 777 })).status).toBe(502);
    expect(await fixture.query('SELECT 1 FROM members.binding_previews')).toEqual([]);
  });

  test('a preview waits for a role sync of the guild, and continues after it', async () => {
    await fixture.settle(2);
    const change = await storedChange();
    await fixture.chat.fault('/members', { status: 500 });
    const sync = await fixture.newJob();
    await fixture.paused(sync);
    await fixture.forget();
    const { job_id } = (await preview(change)).body.data;
    expect(await fixture.paused(job_id)).toMatchObject({
      errors: [{ message: 'The preview waits until the role syncs of the guild have finished' }],
    });
    await until(async () => {
      await fixture.advance(30_000);
      return (await fixture.job(job_id))['state'] === 'done';
    });
    expect(await fixture.job(sync)).toMatchObject({ state: 'done', changed: 2 });
  });

  test('what the game platform never tells is counted as unknown', async () => {
    const world = crew(1);
    Object.assign(world.game.users[0] ?? {}, { inventory_private: true });
    Object.assign(world.game, { gamepasses: [{ id: 601, name: 'Pass' }] });
    await fixture.settle(world);
    const body = { guild_id: GUILD, chat_role_id: DECK, binding_type: 'gamepass', game_gamepass_id: 601 };
    expect(await previewed(body)).toMatchObject({
      result: { roles: [{ role_id: DECK, gained: 0, lost: 0, unknown: 1 }], members: [] },
    });
  });

  test('a preview without progress for ten minutes fails with the reason', async () => {
    await fixture.settle(1);
    const change = await storedChange();
    await fixture.chat.fault('/members', { status: 500 });
    const { job_id } = (await preview(change)).body.data;
    await fixture.paused(job_id);
    await until(async () => {
      await fixture.advance(120_000);
      return (await fixture.job(job_id))['state'] === 'failed';
    });
    expect(['PLATFORM_ERROR', 'UNAVAILABLE']).toContain(
      ((await fixture.job(job_id))['errors'] as { code: string }[])[0]?.code,
    );
  });

  test('another replica continues a preview whose process stopped', async () => {
    await fixture.settle(250);
    const other = await fixture.startMembers();
    await fixture.chat.fault('/members', { delay_ms: 1_000, times: 1 });
    const { job_id } = (await preview(NEW_RANK, { at: other })).body.data;
    await other.stop();
    expect(await fixture.finished(job_id)).toMatchObject({ state: 'done', done: 250, changed: 250 });
  });
});
