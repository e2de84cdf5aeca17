import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { encodeCursor } from '#kit/http/cursor.ts';
import { GUILD, ModerationFixture, newGuild, newPlayer } from './fixture.ts';

const fixture = new ModerationFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const now = () => unixSeconds(fixture.clock.now());
const faultsOf = (response: { body: { details: { errors: { path: string }[] } } }) =>
  response.body.details.errors.map(({ path }) => path);

interface Listed {
  id: number;
  game_id: number;
}

/** All pages of a list as `data` objects. */
async function pagesOf(path: string, guildId: string) {
  const pages = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `${path.includes('?') ? '&' : '?'}cursor=${cursor}`;
    const { status, body } = await fixture.get(path + query, { guildId });
    expect(status).toBe(200);
    pages.push(body.data);
    cursor = body.data.next_cursor;
  }
  return pages;
}

describe.each([
  ['ban', 'bans', 'Active bans listed'],
  ['mute', 'mutes', 'Active mutes listed'],
] as const)('active %ss', (kind, name, message) => {
  const lift = `un${kind}`;
  const active = (guildId: string, query = '') => `/moderation/${guildId}/game/${name}/active${query}`;
  const read = async (guildId: string, query = '') =>
    (await fixture.get(active(guildId, query), { guildId })).body.data;

  test('are exactly the records in force', async () => {
    const guildId = newGuild();
    const decide = (body: Record<string, unknown>) => fixture.decide(kind, body, { guildId });
    const permanent = await decide({ game_id: 1, moderator_game_id: 3, source_server_id: 's' });
    const place = await decide({ game_id: 2, scope: 'place', place_id: 7, duration: '1h' });
    const short = await decide({ game_id: 3, duration: '5m' });
    await decide({ game_id: 4, duration: 1 });
    await decide({ game_id: 5 });
    await fixture.decide(lift, { game_id: 5 }, { guildId });
    await fixture.decide(kind === 'ban' ? 'mute' : 'ban', { game_id: 6 }, { guildId });
    await fixture.advance(1_000);
    const response = await fixture.get(active(guildId), { guildId });
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message,
      data: {
        [name]: [short, place, permanent].map(({ body }) => body.data),
        server_time: expect.any(Number),
        next_cursor: null,
      },
    });
    expect((await read(newGuild()))[name]).toEqual([]);
  });

  test('have a time for the next request for changes, which is five seconds ago if nobody writes', async () => {
    expect((await read(newGuild())).server_time).toBe(now() - 5);
    expect((await read(newGuild(), '?updated_since=0')).server_time).toBe(now() - 5);
  });

  test('of a place are the global ones and those of the place', async () => {
    const guildId = newGuild();
    for (const place of [{}, { scope: 'place', place_id: 1 }, { scope: 'place', place_id: 2 }]) {
      await fixture.decide(kind, { game_id: 1, ...place }, { guildId });
    }
    const placesOf = async (query: string) =>
      (await read(guildId, query))[name].map(({ place_id: id }: { place_id: number }) => id);
    expect(await placesOf('?place_id=1')).toEqual([null, 1]);
    expect(await placesOf('?place_id=3')).toEqual([null]);
    expect(await placesOf('?place_id=2&updated_since=0')).toEqual([null, 2]);
  });

  test('of a player are those of all places, or those that apply in a place', async () => {
    const guildId = newGuild();
    for (const [gameId, place] of [
      [1, {}],
      [1, { scope: 'place', place_id: 1 }],
      [1, { scope: 'place', place_id: 2 }],
      [2, {}],
    ] as const) {
      await fixture.decide(kind, { game_id: gameId, ...place }, { guildId });
    }
    const found = async (query: string) =>
      (await read(guildId, query))[name].map((row: Listed & { place_id: number }) => [row.game_id, row.place_id]);
    expect(await found('?game_id=1')).toEqual([null, 1, 2].map((place) => [1, place]));
    expect(await found('?game_id=1&place_id=2')).toEqual([null, 2].map((place) => [1, place]));
    expect(await found('?game_id=3')).toEqual([]);
    const pages = await pagesOf(active(guildId, '?game_id=1&limit=1'), guildId);
    expect(pages.flatMap((page) => page[name].map(({ place_id: id }: { place_id: number }) => id))).toEqual([
      null,
      1,
      2,
    ]);
    const { next_cursor: cursor } = await read(guildId, '?game_id=1&limit=1');
    expect(faultsOf(await fixture.get(active(guildId, `?limit=1&cursor=${cursor}`), { guildId }))).toEqual([
      'query.cursor',
    ]);
  });

  test('of a player cannot be combined with updated_since, and a malformed ID is a 400', async () => {
    const guildId = newGuild();
    for (const query of ['?game_id=1&updated_since=0', '?game_id=0', '?game_id=x']) {
      const response = await fixture.get(active(guildId, query), { guildId });
      expect([response.status, faultsOf(response)]).toEqual([400, ['query.game_id']]);
    }
  });

  test('are paged without gaps during changes; all pages have the server time of the first', async () => {
    const guildId = newGuild();
    const ids = Array.from({ length: 23 }, (_, index) => index + 1);
    for (const id of ids) {
      await fixture.decide(kind, { game_id: id, ...(id % 3 ? { duration: 100 + id } : {}) }, { guildId });
    }
    const first = await read(guildId, '?limit=5');
    await fixture.advance(3_000);
    await fixture.decide(kind, { game_id: 99 }, { guildId });
    await fixture.decide(lift, { game_id: 3 }, { guildId });
    let cursor = first.next_cursor;
    const found = [...first[name]];
    while (cursor !== null) {
      const page = await read(guildId, `?limit=5&cursor=${cursor}`);
      expect(page.server_time).toBe(first.server_time);
      found.push(...page[name]);
      cursor = page.next_cursor;
    }
    const expected = [...ids.filter((id) => id !== 3), 99];
    expect(found.map(({ game_id: id }: Listed) => id).toSorted((a, b) => a - b)).toEqual(expected);
  });

  test('with updated_since are those that changed since, and those that were lifted', async () => {
    const guildId = newGuild();
    const create = async (id: number, body = {}) =>
      (await fixture.decide(kind, { game_id: id, ...body }, { guildId })).body.data;
    const old = await create(1);
    const oldLifted = await create(2, { scope: 'place', place_id: 5 });
    await create(3, { duration: 8 });
    const { server_time: since } = await read(guildId);
    await fixture.advance(10_000);
    const fresh = await create(4);
    await fixture.decide(lift, { game_id: 2 }, { guildId });
    const short = await create(5);
    const replaced = (await fixture.decide(kind, { game_id: 5, replace: true }, { guildId })).body.data;
    const all = await read(guildId, `?updated_since=${since}`);
    expect(all).toEqual({
      [name]: [old, fresh, replaced],
      lifted: [
        { id: oldLifted.id, game_id: 2, scope: 'place', place_id: 5, lifted_at: now() },
        { id: short.id, game_id: 5, scope: 'global', place_id: null, lifted_at: now() },
      ],
      server_time: expect.any(Number),
      next_cursor: null,
    });
    await fixture.advance(1_000);
    const nothing = await read(guildId, `?updated_since=${now()}`);
    expect([nothing[name], nothing.lifted]).toEqual([[], []]);
    const paged = await pagesOf(active(guildId, `?limit=1&updated_since=${since}`), guildId);
    expect(paged.flatMap((page) => page[name])).toEqual(all[name]);
    expect(paged.flatMap((page) => page.lifted)).toEqual(all.lifted);
  });

  test('one that expired and was followed by another is not listed as lifted', async () => {
    const guildId = newGuild();
    await fixture.decide(kind, { game_id: 1, duration: 1 }, { guildId });
    await fixture.advance(1_000);
    const next = await fixture.decide(kind, { game_id: 1 }, { guildId });
    const changes = await read(guildId, '?updated_since=0');
    expect([changes[name], changes.lifted]).toEqual([[next.body.data], []]);
  });

  test('reject an invalid limit, place or time, and cursors of other lists', async () => {
    const guildId = newGuild();
    for (const id of [1, 2]) await fixture.decide(kind, { game_id: id }, { guildId });
    const response = await fixture.get(active(guildId, '?limit=0&place_id=x&updated_since=soon'), { guildId });
    expect([response.status, faultsOf(response)]).toEqual([
      400,
      ['query.limit', 'query.place_id', 'query.updated_since'],
    ]);
    const { next_cursor: cursor } = await read(guildId, '?limit=1');
    const other = kind === 'ban' ? 'mutes' : 'bans';
    for (const path of [
      active(guildId, `?place_id=1&cursor=${cursor}`),
      active(guildId, `?updated_since=1&cursor=${cursor}`),
      active(guildId, `?cursor=${cursor}x`),
      `/moderation/${guildId}/game/${other}/active?cursor=${cursor}`,
    ]) {
      const rejected = await fixture.get(path, { guildId });
      expect([rejected.status, faultsOf(rejected)]).toEqual([400, ['query.cursor']]);
    }
  });
});

describe('the log', () => {
  const read = async (guildId: string, query = '') =>
    (await fixture.get(`/moderation/${guildId}/logs${query}`, { guildId })).body;

  test('has every decision, the newest first, with exactly these fields', async () => {
    const guildId = newGuild();
    const gameId = newPlayer();
    const body = { game_id: gameId, reason: 'R', moderator_game_id: 5, duration: '1h', scope: 'place', place_id: 8 };
    await fixture.decide('ban', { ...body, source_server_id: 's1', game_username: 'Ada' }, { guildId });
    for (const action of ['unban', 'mute', 'unmute']) await fixture.decide(action, { game_id: gameId }, { guildId });
    const response = await read(guildId);
    expect(response).toMatchObject({ status: 'success', code: 200, message: 'Moderation log listed' });
    expect(response.data.next_cursor).toBeNull();
    expect(response.data.logs.map(({ action }: { action: string }) => action)).toEqual([
      'unmute',
      'mute',
      'unban',
      'ban',
    ]);
    expect(response.data.logs[3]).toEqual({
      id: expect.any(Number),
      action: 'ban',
      game_id: gameId,
      game_username: 'Ada',
      reason: 'R',
      moderator_game_id: 5,
      moderator_chat_id: null,
      scope: 'place',
      place_id: 8,
      duration_seconds: 3600,
      expires_at: now() + 3600,
      source_server_id: 's1',
      created_at: now(),
    });
    const ids = response.data.logs.map(({ id }: Listed) => id);
    expect(ids).toEqual(ids.toSorted((a: number, b: number) => b - a));
  });

  test('can be filtered by player, moderator, action and time, and is paged', async () => {
    const guildId = newGuild();
    const start = now();
    for (let index = 0; index < 12; index++) {
      const body = { game_id: 1 + (index % 4), moderator_game_id: 1 + (index % 3), replace: true };
      await fixture.decide(index % 2 ? 'mute' : 'ban', body, { guildId });
      await fixture.advance(1_000);
    }
    const all = (await read(guildId)).data.logs as Record<string, unknown>[];
    const expectSame = async (query: string, keep: (entry: Record<string, unknown>) => boolean) => {
      const expected = all.filter(keep);
      expect(expected.length).toBeGreaterThan(0);
      expect((await read(guildId, `?${query}`)).data.logs).toEqual(expected);
      const pages = await pagesOf(`/moderation/${guildId}/logs?${query}&limit=2`, guildId);
      expect(pages.flatMap(({ logs }) => logs)).toEqual(expected);
      expect(pages.every(({ logs }) => logs.length > 0)).toBe(true);
    };
    await expectSame('game_id=1', (entry) => entry['game_id'] === 1);
    await expectSame('moderator_game_id=2', (entry) => entry['moderator_game_id'] === 2);
    await expectSame('action=unban', (entry) => entry['action'] === 'unban');
    await expectSame('action=mute&game_id=2', (entry) => entry['action'] === 'mute' && entry['game_id'] === 2);
    const at = (entry: Record<string, unknown>) => Number(entry['created_at']) - start;
    await expectSame(`from=${start + 3}&to=${start + 6}`, (entry) => at(entry) >= 3 && at(entry) <= 6);
    await expectSame(`from=${start + 3}`, (entry) => at(entry) >= 3);
    expect((await read(guildId, `?from=${start + 9}&to=${start + 3}`)).data.logs).toEqual([]);
  });

  test('rejects invalid filters', async () => {
    const response = await fixture.get(
      `/moderation/${GUILD}/logs?game_id=x&moderator_game_id=0&action=kick&from=a&to=b&limit=101`,
    );
    expect(response.status).toBe(400);
    const names = ['limit', 'game_id', 'moderator_game_id', 'action', 'from', 'to'];
    expect(new Set(faultsOf(response))).toEqual(new Set(names.map((name) => `query.${name}`)));
  });
});

test('a made-up cursor is a 400', async () => {
  for (const position of ['', '1_2', 'never_1_x', '9999999999999999_1_1', '[]']) {
    const log = encodeCursor({ route: 'log', guildId: GUILD }, position);
    const bans = encodeCursor({ route: 'active ban', guildId: GUILD }, position);
    for (const path of [`logs?cursor=${log}`, `game/bans/active?cursor=${bans}`]) {
      const response = await fixture.get(`/moderation/${GUILD}/${path}`);
      expect([response.status, faultsOf(response)]).toEqual([400, ['query.cursor']]);
    }
  }
});

test('the server time is before the oldest transaction that is still writing', async () => {
  const guildId = newGuild();
  const serverTime = async () =>
    (await fixture.get(`/moderation/${guildId}/game/bans/active`, { guildId })).body.data.server_time;
  expect(await serverTime()).toBe(now() - 5);
  await fixture.query('BEGIN');
  await fixture.query('SELECT pg_current_xact_id()');
  // More than the margin of five seconds that is always subtracted.
  await expect.poll(async () => now() - (await serverTime())).toBeGreaterThanOrEqual(6);
  await fixture.query('ROLLBACK');
  expect(await serverTime()).toBe(now() - 5);
});
