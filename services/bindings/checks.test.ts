import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { BindingsFixture, CAPTAIN, faultsOf, rankBinding } from './fixture.ts';

const ADA = { chatId: '920000000000000001', gameId: 7001 };
/** A member with the ranks 200 and 50 in group 501. */
const BRUNO = { chatId: '920000000000000002', gameId: 7002 };
/** A member who is in no group. */
const DMITRI = { chatId: '920000000000000004', gameId: 7004 };

const fixture = new BindingsFixture();
let replica: RunningService;
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(async () => {
  fixture.nextGuild();
  replica = await fixture.startBindings();
});
afterEach(async () => {
  await replica.stop();
  await fixture.calm();
});

const outages = [
  ['responds with 500', { status: 500 }, 502, 'PLATFORM_ERROR', null],
  ['sends invalid JSON', { broken: true }, 502, 'PLATFORM_ERROR', null],
  ['truncates the response', { truncate: true }, 502, 'PLATFORM_ERROR', null],
  ['responds with 429', { status: 429, retry_after: 7 }, 503, 'UNAVAILABLE', '7'],
] as const;

describe('POST /bindings/test', () => {
  beforeEach(() => fixture.link(ADA, BRUNO, DMITRI));

  test.each([
    [ADA, 50, 255, { matches: true, reason: 'rank 50 is within 50 to 255', user_rank: 50 }],
    [ADA, 100, 255, { matches: false, reason: 'rank 50 is below the minimum of 100', user_rank: 50 }],
    [ADA, 1, 10, { matches: false, reason: 'rank 50 is above the maximum of 10', user_rank: 50 }],
    [BRUNO, 10, 60, { matches: true, reason: 'rank 50 is within 10 to 60', user_rank: 50 }],
    [BRUNO, 60, 100, { matches: false, reason: 'rank 200 is above the maximum of 100', user_rank: 200 }],
    [
      DMITRI,
      1,
      255,
      { matches: false, reason: 'the user is not in group 501, and the minimum rank is 1', user_rank: 0 },
    ],
  ])('%j from %i to %i', async (member, min, max, data) => {
    const { id } = await fixture.added(rankBinding({ min_rank: min, max_rank: max }));
    const response = await fixture.test(member.chatId, id);
    expect(response.body).toEqual({ status: 'success', code: 200, message: 'Binding tested', data });
  });

  test.each([
    [0, 0],
    [0, 10],
    [0, 255],
  ])('a range from %i to %i matches users outside the group, and validate accepts it', async (min, max) => {
    const { id } = await fixture.added(rankBinding({ min_rank: min, max_rank: max }));
    const data = { matches: true, reason: `rank 0 is within ${min} to ${max}`, user_rank: 0 };
    expect((await fixture.test(DMITRI.chatId, id)).body.data).toEqual(data);
    const range = { game_group_id: 501, min_rank: min, max_rank: max };
    expect((await fixture.validate(range)).body.data).toMatchObject({ valid: true });
  });

  test('works without a key for Open Cloud', async () => {
    const keyless = await fixture.startBindings({ GAME_API_KEY: '' });
    const { id } = await fixture.added(rankBinding());
    expect((await fixture.test(ADA.chatId, id, { at: keyless })).body.data).toMatchObject({
      matches: true,
      user_rank: 50,
    });
    await keyless.stop();
  });

  test('a binding of another type is a 400', async () => {
    const { id } = await fixture.added({ chat_role_id: CAPTAIN, binding_type: 'gamepass', game_gamepass_id: 601 });
    const response = await fixture.test(ADA.chatId, id);
    expect(response.status).toBe(400);
    expect(faultsOf(response)).toEqual(['body.binding_id']);
  });

  test('an unverified member, an unknown binding and a binding of another guild are 404', async () => {
    const { id } = await fixture.added(rankBinding());
    const unverified = await fixture.test('920000000000000099', id);
    expect(unverified).toMatchObject({
      status: 404,
      body: { message: 'The member is not verified in this guild', details: { code: 'NOT_FOUND' } },
    });
    const absent = { status: 404, body: { message: 'No such binding in this guild' } };
    expect(await fixture.test(ADA.chatId, 999_999)).toMatchObject(absent);
    fixture.nextGuild();
    expect(await fixture.test(ADA.chatId, id)).toMatchObject(absent);
  });

  test('lists every fault in one response', async () => {
    const response = await fixture.call('POST', '/bindings/test', { chat_id: 1, binding_id: 'x' });
    expect(faultsOf(response)).toEqual(['body.guild_id', 'body.chat_id', 'body.binding_id']);
  });

  test.each(outages)(
    'a game platform that %s is an error of its own',
    async (_what, fault, status, code, retryAfter) => {
      const { id } = await fixture.added(rankBinding());
      for (const match of ['/memberships', '/roles']) {
        const other = await fixture.startBindings();
        await fixture.game.fault(match, fault);
        const response = await fixture.test(ADA.chatId, id, { at: other });
        expect(response).toMatchObject({ status, body: { details: { code } } });
        expect(response.headers.get('retry-after')).toBe(retryAfter);
        await fixture.calm();
        await other.stop();
      }
    },
  );

  test('is UNAVAILABLE while lookup is down', async () => {
    const lost = await fixture.startBindings({ LOOKUP_GRPC_ADDRESS: '127.0.0.1:1' });
    const { id } = await fixture.added(rankBinding());
    const response = await fixture.test(ADA.chatId, id, { at: lost });
    expect(response).toMatchObject({ status: 503, body: { details: { code: 'UNAVAILABLE' } } });
    expect((await fixture.list({ at: lost })).status).toBe(200);
    await lost.stop();
  });
});

describe('POST /bindings/validate', () => {
  const group = { group_id: 501, group_name: 'Harbor Crew' };

  test.each([
    [501, 50, 255, { valid: true, ...group }],
    ['501', 100, 100, { valid: true, ...group }],
    [501, 51, 99, { valid: false, ...group, reason: 'Harbor Crew has no role with a rank from 51 to 99' }],
    [599, 0, 255, { valid: false, group_id: 599, group_name: null, reason: 'the game platform has no group 599' }],
  ])('group %s from %i to %i', async (id, min, max, data) => {
    const response = await fixture.validate({ game_group_id: id, min_rank: min, max_rank: max }, { at: replica });
    expect(response.body).toEqual({ status: 'success', code: 200, message: 'Configuration checked', data });
  });

  test.each([
    ['no fields', {}, ['body.game_group_id', 'body.min_rank', 'body.max_rank']],
    [
      'bad types',
      { game_group_id: 'x', min_rank: '1', max_rank: null },
      ['body.game_group_id', 'body.min_rank', 'body.max_rank'],
    ],
    ['ranks outside 0 to 255', { game_group_id: 501, min_rank: -1, max_rank: 256 }, ['body.min_rank', 'body.max_rank']],
    ['max_rank below min_rank', { game_group_id: 501, min_rank: 3, max_rank: 2 }, ['body.max_rank']],
  ])('rejects %s', async (_what, body, faults) => {
    const response = await fixture.validate(body);
    expect(response.status).toBe(400);
    expect(faultsOf(response)).toEqual(faults);
  });

  test.each(outages)(
    'a game platform that %s is an error of its own',
    async (_what, fault, status, code, retryAfter) => {
      await fixture.game.fault('/groups/', fault);
      const sound = { game_group_id: 501, min_rank: 1, max_rank: 2 };
      const response = await fixture.validate(sound, { at: replica });
      expect(response).toMatchObject({ status, body: { details: { code } } });
      expect(response.headers.get('retry-after')).toBe(retryAfter);
    },
  );
});
