import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BindingsFixture, CAPTAIN, DECKHAND, faultsOf, OFFICER, rankBinding } from '../fixture.ts';

const fixture = new BindingsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => void fixture.nextGuild());
afterEach(() => fixture.calm());

const gamepass = { chat_role_id: CAPTAIN, binding_type: 'gamepass', game_gamepass_id: 601 };
const notFound = {
  status: 404,
  body: { status: 'error', code: 404, message: 'No such binding in this guild', details: { code: 'NOT_FOUND' } },
};
/** Adds a binding in another guild and returns its ID. */
async function elsewhere(): Promise<number> {
  const { guild } = fixture;
  fixture.nextGuild();
  const { id } = await fixture.added(rankBinding());
  fixture.guild = guild;
  return id;
}

describe('GET /bindings/list', () => {
  test('is empty without bindings, and calls no platform', async () => {
    const response = await fixture.list();
    expect(response.body).toEqual({ status: 'success', code: 200, message: 'Bindings listed', data: { bindings: [] } });
    expect([await fixture.game.calls(), await fixture.chat.calls()]).toEqual([{}, {}]);
  });

  test('is ordered by priority (none last) and ID, and contains only bindings of the guild', async () => {
    const priorities = [null, 5, -3, null, 5];
    const ids: number[] = [];
    for (const [index, priority] of priorities.entries()) {
      ids.push((await fixture.added(rankBinding({ min_rank: index, priority }))).id);
    }
    await elsewhere();
    const { bindings } = (await fixture.list()).body.data;
    expect(bindings.map(({ id }: { id: number }) => ids.indexOf(id))).toEqual([2, 1, 4, 0, 3]);
  });

  test('contains the names of roles and groups, each requested once', async () => {
    const replica = await fixture.startBindings();
    await fixture.added(rankBinding());
    await fixture.added(rankBinding({ chat_role_id: DECKHAND, game_group_id: 502 }));
    await fixture.added(rankBinding({ chat_role_id: DECKHAND }));
    await fixture.added(gamepass);
    await fixture.calm();
    const names = async () =>
      (await fixture.list({ at: replica })).body.data.bindings.map((binding: Record<string, unknown>) => [
        binding.chat_role_name,
        binding.game_group_name,
      ]);
    const expected = [
      ['Officer', 'Harbor Crew'],
      ['Deckhand', 'Lighthouse Builders'],
      ['Deckhand', 'Harbor Crew'],
      ['Captain', null],
    ];
    expect(await names()).toEqual(expected);
    expect(await names()).toEqual(expected);
    expect((await fixture.game.calls())['GET /v1/groups/:group']).toBe(2);
    expect((await fixture.chat.calls())['GET /api/v10/guilds/:guild/roles']).toBe(1);
    await replica.stop();
  });

  test('shows null for a deleted role and a deleted group', async () => {
    await fixture.query(
      `INSERT INTO bindings.bindings
         (guild_id, chat_role_id, type, game_group_id, min_rank, max_rank, created_at, updated_at)
       VALUES ($1, '910000000000000777', 'group_rank', 599, 1, 2, now(), now())`,
      [fixture.guild],
    );
    const [binding] = (await fixture.list()).body.data.bindings;
    expect(binding).toMatchObject({ chat_role_name: null, game_group_name: null, game_group_id: 599 });
  });

  test.each([
    ['respond with 500', { status: 500 }],
    ['send invalid JSON', { broken: true }],
    ['respond with 429', { status: 429, retry_after: 5 }],
    ['reset the connection', { reset: true }],
    ['do not respond', { delay_ms: 30_000 }],
  ])(
    'never fails and is never slow when both platforms %s: last known names are shown, others are null',
    async (_, fault) => {
      const replica = await fixture.startBindings();
      await fixture.added(rankBinding());
      await fixture.list({ at: replica });
      await fixture.added(rankBinding({ game_group_id: 502 }));
      fixture.clock.advance(2 * 3600_000);
      await fixture.game.fault('', fault);
      await fixture.chat.fault('', fault);
      // No list waits for longer than 1.5 s, and the second list does not wait because the platforms were too slow.
      for (const within of [10_000, 1_400]) {
        const started = performance.now();
        const response = await fixture.list({ at: replica });
        expect(performance.now() - started).toBeLessThan(within);
        expect(response.status).toBe(200);
        expect(response.body.data.bindings).toMatchObject([
          { chat_role_name: 'Officer', game_group_id: 501, game_group_name: 'Harbor Crew' },
          { chat_role_name: 'Officer', game_group_id: 502, game_group_name: null },
        ]);
      }
      await replica.stop();
    },
  );
});

describe('PATCH /bindings/update', () => {
  test('changes the given fields and returns the binding as in the list', async () => {
    const added = await fixture.added(rankBinding({ priority: 7 }));
    const change = { binding_id: added.id, min_rank: 100, priority: 0 };
    const response = await fixture.update(change);
    const data = { ...added, min_rank: 100, priority: 0 };
    expect(response.body).toEqual({ status: 'success', code: 200, message: 'Binding updated', data });
    expect((await fixture.list()).body.data.bindings).toEqual([data]);
    const range = await fixture.update({
      binding_id: String(added.id),
      min_rank: 1,
      max_rank: 2,
      guild_id: fixture.guild,
    });
    expect(range.body.data).toEqual({ ...data, min_rank: 1, max_rank: 2 });
  });

  test('null removes the priority, and has no effect for a rank', async () => {
    const added = await fixture.added(rankBinding({ priority: 7 }));
    const body = { binding_id: added.id, priority: null, min_rank: null, max_rank: 77 };
    const response = await fixture.update(body);
    expect([response.status, response.body.data]).toEqual([200, { ...added, priority: null, max_rank: 77 }]);
  });

  test('IDs are counted per guild and never reused', async () => {
    const ids = [];
    for (const removed of [true, true, false]) {
      const { id } = await fixture.added(rankBinding());
      ids.push(id);
      if (removed) await fixture.remove(id);
    }
    expect([...ids, await elsewhere()]).toEqual([1, 2, 3, 1]);
  });

  test('every type can have a priority, but only group_rank can have ranks', async () => {
    const { id } = await fixture.added(gamepass);
    expect((await fixture.update({ binding_id: id, priority: 4 })).body.data.priority).toBe(4);
    const response = await fixture.update({ binding_id: id, priority: 5, min_rank: 1, max_rank: 2 });
    expect(response.body.details).toEqual({
      code: 'INVALID_REQUEST',
      errors: ['min_rank', 'max_rank'].map((field) => ({
        path: `body.${field}`,
        message: 'is not for a binding of type gamepass',
      })),
    });
    expect((await fixture.list()).body.data.bindings).toMatchObject([{ priority: 4, min_rank: null }]);
  });

  test('a range is validated together with the stored values', async () => {
    const { id } = await fixture.added(rankBinding({ min_rank: 50, max_rank: 100 }));
    const faultsAfter = async (change: object) =>
      (await fixture.update({ binding_id: id, ...change })).body.details.errors as unknown;
    expect(await faultsAfter({ max_rank: 49 })).toEqual([
      { path: 'body.max_rank', message: 'must be at least the min_rank of 50' },
    ]);
    expect(await faultsAfter({ min_rank: 101 })).toEqual([
      { path: 'body.min_rank', message: 'must be at most the max_rank of 100' },
    ]);
    expect(await faultsAfter({ min_rank: 20, max_rank: 10 })).toEqual([
      { path: 'body.max_rank', message: 'must be at least min_rank' },
    ]);
    expect((await fixture.update({ binding_id: id, max_rank: 50 })).status).toBe(200);
  });

  test.each([
    ['no fields', {}, ['body.binding_id', 'body']],
    ['no field to change', { binding_id: 1 }, ['body']],
    ['only ranks of null', { binding_id: 1, min_rank: null, max_rank: null }, ['body']],
    ['an invalid ID', { binding_id: 'x', priority: 1 }, ['body.binding_id']],
    [
      'bad values',
      { binding_id: 0, min_rank: 256, max_rank: -1, priority: '1' },
      ['binding_id', 'min_rank', 'max_rank', 'priority'].map((field) => `body.${field}`),
    ],
  ])('rejects %s', async (_what, body, faults) => {
    const response = await fixture.update(body);
    expect(response.status).toBe(400);
    expect(faultsOf(response)).toEqual(faults);
  });

  test('an unknown binding and a binding of another guild have the same response', async () => {
    for (const id of [999_999, await elsewhere()]) {
      expect(await fixture.update({ binding_id: id, priority: 1 })).toMatchObject(notFound);
    }
  });

  test('a change that would make two bindings identical is a CONFLICT and changes nothing', async () => {
    await fixture.added(rankBinding());
    const { id } = await fixture.added(rankBinding({ min_rank: 51 }));
    for (const key of [undefined, 'identical', 'identical']) {
      const response = await fixture.update({ binding_id: id, min_rank: 50, priority: 9 }, key ? { key } : {});
      expect(response).toMatchObject({ status: 409, body: { message: 'The guild has an identical binding already' } });
    }
    expect((await fixture.list()).body.data.bindings).toMatchObject([{}, { min_rank: 51, priority: null }]);
  });

  test('concurrent changes of both ends never leave max_rank below min_rank', async () => {
    const { id } = await fixture.added(rankBinding({ min_rank: 0, max_rank: 255 }));
    const changes = Array.from({ length: 8 }, (_, index) => [{ min_rank: 100 + index }, { max_rank: 99 - index }]);
    const responses = await Promise.all(changes.flat().map((change) => fixture.update({ binding_id: id, ...change })));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 400]));
    const [{ min_rank: min, max_rank: max }] = (await fixture.list()).body.data.bindings;
    expect(max).toBeGreaterThanOrEqual(min);
  });

  test('no concurrent change of different fields is lost', async () => {
    const { id } = await fixture.added(rankBinding({ min_rank: 0, max_rank: 255 }));
    const changes = [{ min_rank: 10 }, { max_rank: 20 }, { priority: 30 }];
    await Promise.all(changes.map((change) => fixture.update({ binding_id: id, ...change })));
    expect((await fixture.list()).body.data.bindings).toMatchObject([{ min_rank: 10, max_rank: 20, priority: 30 }]);
  });

  test('with an Idempotency-Key a repeat gets the first response', async () => {
    const { id } = await fixture.added(rankBinding());
    const first = await fixture.update({ binding_id: id, priority: 1 }, { key: 'again' });
    await fixture.update({ binding_id: id, priority: 2 });
    const again = await fixture.update({ binding_id: id, priority: 1 }, { key: 'again' });
    expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', first.body]);
    expect((await fixture.list()).body.data.bindings).toMatchObject([{ priority: 2 }]);
  });

  test('works while both platforms are down', async () => {
    const { id } = await fixture.added(rankBinding());
    await fixture.game.fault('', { status: 500 });
    await fixture.chat.fault('', { status: 500 });
    expect((await fixture.update({ binding_id: id, priority: 1 })).status).toBe(200);
    expect((await fixture.remove(id)).status).toBe(200);
  });
});

describe('DELETE /bindings/remove/:bindingId', () => {
  test('removes a binding once', async () => {
    const { id } = await fixture.added(rankBinding());
    const response = await fixture.remove(id);
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Binding removed',
      data: { removed: true, id },
    });
    expect(await fixture.remove(id)).toMatchObject(notFound);
    expect(await fixture.stored()).toBe(0);
    await fixture.added(rankBinding());
  });

  test('a binding of another guild is 404 and stays', async () => {
    const stored = () => fixture.query('SELECT guild_id, id FROM bindings.bindings ORDER BY guild_id, id');
    const id = await elsewhere();
    const before = await stored();
    expect(await fixture.remove(id)).toMatchObject(notFound);
    expect(await stored()).toEqual(before);
  });

  test.each(['0', 'x', '1.5', '-1', '9007199254740992'])('rejects the ID %s', async (id) => {
    expect(faultsOf(await fixture.remove(id))).toEqual(['path.bindingId']);
  });

  test('with an Idempotency-Key a repeat gets the first response', async () => {
    const { id } = await fixture.added(rankBinding());
    const first = await fixture.remove(id, { key: 'gone' });
    const again = await fixture.remove(id, { key: 'gone' });
    expect([again.status, again.headers.get('idempotency-replayed'), again.body]).toEqual([200, 'true', first.body]);
  });

  test('one of ten concurrent requests removes the binding', async () => {
    const { id } = await fixture.added(rankBinding({ chat_role_id: OFFICER }));
    const responses = await Promise.all(Array.from({ length: 10 }, () => fixture.remove(id)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 404)).toHaveLength(9);
  });
});
