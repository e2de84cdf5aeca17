import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { GUILD, ModerationFixture, newGuild, newPlayer, OTHER_GUILD } from './fixture.ts';

const DAY = 86_400;

const fixture = new ModerationFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const now = () => unixSeconds(fixture.clock.now());
const faultsOf = (response: { body: { details: { errors: { path: string }[] } } }) =>
  response.body.details.errors.map(({ path }) => path);

/** The log entries of a player, the oldest first. */
async function logOf(gameId: number, guildId = GUILD) {
  const response = await fixture.get(`/moderation/${guildId}/logs?game_id=${gameId}`, { guildId });
  return (response.body.data.logs as Record<string, unknown>[]).toReversed();
}

describe.each([
  ['ban', 'banned'],
  ['mute', 'muted'],
] as const)('%s', (kind, word) => {
  const lift = `un${kind}`;

  test('is 201 with exactly the record; missing fields are null', async () => {
    const gameId = newPlayer();
    const response = await fixture.decide(kind, { game_id: gameId, reason: 'Exploits' });
    expect(response.status).toBe(201);
    const message = kind === 'ban' ? 'Player banned' : 'Player muted';
    expect(response.body).toEqual({
      status: 'success',
      code: 201,
      message,
      data: {
        id: expect.any(Number),
        game_id: gameId,
        game_username: null,
        reason: 'Exploits',
        moderator_game_id: null,
        moderator_chat_id: null,
        scope: 'global',
        place_id: null,
        created_at: now(),
        expires_at: null,
        is_permanent: true,
        source_server_id: null,
      },
    });
  });

  test('accepts every field, IDs also as strings of digits', async () => {
    const gameId = newPlayer();
    const response = await fixture.decide(kind, {
      guild_id: GUILD,
      game_id: String(gameId),
      game_username: 'AdaBuilds',
      moderator_game_id: '7002',
      moderator_chat_id: '920000000000000001',
      duration: '7d',
      scope: 'place',
      place_id: '4001',
      source_server_id: 'server-7f3a',
      replace: false,
      colour: 'ignored',
    });
    expect(response.body.data).toMatchObject({
      game_id: gameId,
      game_username: 'AdaBuilds',
      moderator_game_id: 7002,
      moderator_chat_id: '920000000000000001',
      scope: 'place',
      place_id: 4001,
      expires_at: now() + 7 * DAY,
      is_permanent: false,
      source_server_id: 'server-7f3a',
    });
  });

  test.each([
    [60, 60],
    ['90', 90],
    ['30s', 30],
    ['5m', 300],
    ['1h', 3600],
    ['7d', 7 * DAY],
    ['3650d', 3650 * DAY],
    ['permanent', null],
    [null, null],
  ])('lasts %s', async (duration, seconds) => {
    const gameId = newPlayer();
    const { body } = await fixture.decide(kind, { game_id: gameId, duration });
    const expiresAt = seconds === null ? null : now() + seconds;
    expect(body.data).toMatchObject({ expires_at: expiresAt, is_permanent: seconds === null });
    expect((await logOf(gameId))[0]).toMatchObject({ duration_seconds: seconds, expires_at: expiresAt });
  });

  test.each([0, -1, 1.5, '', '0s', '5 m', '1w', 'forever', '3651d', 315_360_001, '7D', true, [5]])(
    'rejects the duration %j',
    async (duration) => {
      const response = await fixture.decide(kind, { game_id: newPlayer(), duration });
      expect([response.status, faultsOf(response)]).toEqual([400, ['body.duration']]);
    },
  );

  test('reports every fault', async () => {
    const response = await fixture.decide(kind, {
      game_id: 'x',
      reason: '',
      moderator_game_id: 0,
      moderator_chat_id: '5',
      game_username: '',
      scope: 'world',
      place_id: -1,
      source_server_id: 'a b',
      replace: 'yes',
    });
    expect(response.status).toBe(400);
    expect(new Set(faultsOf(response))).toEqual(
      new Set(
        [
          'game_id',
          'reason',
          'moderator_game_id',
          'moderator_chat_id',
          'game_username',
          'scope',
          'place_id',
          'source_server_id',
          'replace',
        ].map((name) => `body.${name}`),
      ),
    );
    expect(faultsOf(await fixture.post(`/moderation/${GUILD}/game/${kind}`, {}))).toEqual([
      'body.game_id',
      'body.reason',
    ]);
  });

  test.each([{ scope: 'place' }, { place_id: 4001 }, { scope: 'global', place_id: 4001 }])(
    'scope place and place_id require each other: %j is a 400, also for a lift',
    async (place) => {
      for (const action of [kind, lift]) {
        const response = await fixture.decide(action, { game_id: newPlayer(), ...place });
        expect([response.status, faultsOf(response)]).toEqual([400, ['body.place_id']]);
      }
    },
  );

  test('an empty server ID is a 422, and nothing is stored', async () => {
    const gameId = newPlayer();
    for (const action of [kind, lift]) {
      const response = await fixture.decide(action, { game_id: gameId, source_server_id: '' });
      expect(response).toMatchObject({ status: 422, body: { details: { code: 'NOT_APPLICABLE' } } });
    }
    expect(await logOf(gameId)).toEqual([]);
  });

  test('a second one in the same scope is a 409; another scope, kind, player or guild is not', async () => {
    const gameId = newPlayer();
    const other = kind === 'ban' ? 'mute' : 'ban';
    expect((await fixture.decide(kind, { game_id: gameId })).status).toBe(201);
    const second = await fixture.decide(kind, { game_id: gameId, duration: '1h' });
    expect(second).toMatchObject({ status: 409, body: { details: { code: 'CONFLICT' } } });
    expect(second.body.message).toBe(`The player is ${word} already`);
    const place = { scope: 'place', place_id: 1 };
    expect((await fixture.decide(kind, { game_id: gameId, ...place })).status).toBe(201);
    expect((await fixture.decide(kind, { game_id: gameId, ...place })).status).toBe(409);
    expect((await fixture.decide(kind, { game_id: gameId, ...place, place_id: 2 })).status).toBe(201);
    expect((await fixture.decide(other, { game_id: gameId })).status).toBe(201);
    expect((await fixture.decide(kind, { game_id: gameId }, { guildId: OTHER_GUILD })).status).toBe(201);
    expect(await logOf(gameId)).toHaveLength(4);
  });

  test('an expired one does not prevent the next', async () => {
    const gameId = newPlayer();
    await fixture.decide(kind, { game_id: gameId, duration: 10 });
    await fixture.advance(9_999);
    expect((await fixture.decide(kind, { game_id: gameId })).status).toBe(409);
    await fixture.advance(1);
    expect((await fixture.decide(lift, { game_id: gameId })).status).toBe(404);
    expect((await fixture.decide(kind, { game_id: gameId })).status).toBe(201);
    expect((await logOf(gameId)).map(({ action }) => action)).toEqual([kind, kind]);
  });

  test.each([
    ['none', undefined],
    ['an expired one', 1],
  ])('of ten concurrent ones after %s one is a 201 and nine are 409', async (_case, seconds) => {
    const guildId = newGuild();
    const gameId = newPlayer();
    if (seconds) {
      await fixture.decide(kind, { game_id: gameId, duration: seconds }, { guildId });
      await fixture.advance(seconds * 1000);
    }
    const ban = () => fixture.decide(kind, { game_id: gameId }, { guildId });
    const statuses = (await Promise.all(Array.from({ length: 10 }, ban))).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
    expect(await logOf(gameId, guildId)).toHaveLength(seconds ? 2 : 1);
  });

  test('replace lifts the old one and makes a new one in one step, with a log row for each', async () => {
    const gameId = newPlayer();
    const first = await fixture.decide(kind, { game_id: gameId, reason: 'First', moderator_game_id: 1 });
    const second = await fixture.decide(kind, {
      game_id: gameId,
      reason: 'Second',
      duration: '1h',
      moderator_game_id: 2,
      replace: true,
    });
    expect(second.status).toBe(201);
    expect(second.body.data.id).toBeGreaterThan(first.body.data.id);
    expect(await logOf(gameId)).toMatchObject([
      { action: kind, reason: 'First', moderator_game_id: 1 },
      { action: lift, reason: null, moderator_game_id: 2, duration_seconds: null, expires_at: null },
      { action: kind, reason: 'Second', moderator_game_id: 2, duration_seconds: 3600 },
    ]);
    expect((await fixture.decide(kind, { game_id: newPlayer(), replace: true })).status).toBe(201);
  });

  test('ten concurrent replacements run one after another, and one is in force at the end', async () => {
    const guildId = newGuild();
    const gameId = newPlayer();
    const replace = () => fixture.decide(kind, { game_id: gameId, replace: true }, { guildId });
    const responses = await Promise.all(Array.from({ length: 10 }, replace));
    expect(responses.every(({ status }) => status === 201)).toBe(true);
    const actions = (await logOf(gameId, guildId)).map(({ action }) => action);
    expect(actions).toEqual([kind, ...Array.from({ length: 9 }, () => [lift, kind]).flat()]);
  });

  test('lifting returns the lifted record, or 404 if none is in force', async () => {
    const gameId = newPlayer();
    const created = await fixture.decide(kind, { game_id: gameId, game_username: 'Ada', source_server_id: 'server-1' });
    const lifted = await fixture.decide(lift, {
      game_id: gameId,
      reason: 'Appeal',
      moderator_chat_id: '920000000000000001',
    });
    expect(lifted.status).toBe(200);
    expect(lifted.body).toEqual({
      status: 'success',
      code: 200,
      message: kind === 'ban' ? 'Player unbanned' : 'Player unmuted',
      data: { ...created.body.data, lifted_at: now(), lifted_count: 1 },
    });
    expect((await logOf(gameId))[1]).toEqual({
      id: expect.any(Number),
      action: lift,
      game_id: gameId,
      game_username: 'Ada',
      reason: 'Appeal',
      moderator_game_id: null,
      moderator_chat_id: '920000000000000001',
      scope: 'global',
      place_id: null,
      duration_seconds: null,
      expires_at: null,
      source_server_id: null,
      created_at: now(),
    });
    const again = await fixture.decide(lift, { game_id: gameId });
    expect(again).toMatchObject({ status: 404, body: { message: `The player is not ${word}` } });
    expect(again.body.details).toEqual({ code: 'NOT_FOUND' });
    expect((await fixture.decide(lift, { game_id: gameId }, { guildId: OTHER_GUILD })).status).toBe(404);
  });

  test('lifting without scope lifts all, and returns the global one, otherwise the newest', async () => {
    const gameId = newPlayer();
    const place = (id: number) => fixture.decide(kind, { game_id: gameId, scope: 'place', place_id: id });
    const global = await fixture.decide(kind, { game_id: gameId });
    await place(1);
    await place(2);
    const lifted = await fixture.decide(lift, { game_id: gameId });
    expect(lifted.body.data).toEqual({ ...global.body.data, lifted_at: now(), lifted_count: 3 });
    expect((await logOf(gameId)).filter(({ action }) => action === lift)).toHaveLength(3);
    await place(2);
    await place(1);
    expect((await fixture.decide(lift, { game_id: gameId })).body.data).toMatchObject({ scope: 'place', place_id: 1 });
    expect((await fixture.decide(lift, { game_id: gameId })).status).toBe(404);
  });

  test('lifting with a scope lifts only that one', async () => {
    const gameId = newPlayer();
    await fixture.decide(kind, { game_id: gameId });
    await fixture.decide(kind, { game_id: gameId, scope: 'place', place_id: 1 });
    const wrong = await fixture.decide(lift, { game_id: gameId, scope: 'place', place_id: 2 });
    expect(wrong.status).toBe(404);
    const lifted = await fixture.decide(lift, { game_id: gameId, scope: 'global' });
    expect(lifted.body.data).toMatchObject({ scope: 'global' });
    expect((await fixture.decide(lift, { game_id: gameId, scope: 'global' })).status).toBe(404);
    const last = await fixture.decide(lift, { game_id: gameId, scope: 'place', place_id: 1 });
    expect(last.body.data).toMatchObject({ scope: 'place', place_id: 1 });
  });
});
