import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { GUILD, MembersFixture, newAccounts, OTHER_GUILD, statusesOf } from './fixture.ts';

const fixture = new MembersFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const faults = (method: string, body?: object) =>
  fetch(`${fixture.simulators.game}/__faults`, { method, body: body ? JSON.stringify(body) : null });
const gameCalls = async (): Promise<number> => {
  const response = await fetch(`${fixture.simulators.game}/__calls`);
  const { calls } = (await response.json()) as { calls: Record<string, number> };
  return calls['GET /v1/users/:user'] ?? 0;
};
const pathsOf = (response: { status: number; body: { details: { errors: { path: string }[] } } }) => {
  expect(response.status).toBe(400);
  return response.body.details.errors.map(({ path }) => path);
};

const linkWithoutName = (chatId: string, gameId: number, request: object = {}) =>
  fixture.post('/verification/link', { guild_id: GUILD, chat_id: chatId, game_id: gameId }, request);

describe('POST /verification/link', () => {
  afterEach(() => faults('DELETE'));

  test('links two accounts without requesting a given name from the game platform', async () => {
    const { chatId, gameId } = newAccounts();
    const before = await gameCalls();
    const response = await fixture.link(chatId, gameId);
    expect(response.status).toBe(201);
    expect(response.body).toEqual({
      status: 'success',
      code: 201,
      message: 'Accounts linked',
      data: { chat_id: chatId, game_id: gameId, game_username: 'Player', verified: true },
    });
    expect(await gameCalls()).toBe(before);
  });

  test('requests the name from the game platform if it is not given', async () => {
    const response = await linkWithoutName(newAccounts().chatId, 7001);
    expect(response.body.data).toMatchObject({ game_id: 7001, game_username: 'AdaBuilds' });
  });

  test('a user who does not exist on the game platform is an INVALID_TARGET', async () => {
    const { chatId, gameId } = newAccounts();
    const response = await linkWithoutName(chatId, gameId);
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      status: 'error',
      code: 400,
      message: 'The game platform has no such user',
      details: {
        code: 'INVALID_TARGET',
        errors: [{ path: 'body.game_id', message: 'is no user of the game platform' }],
      },
    });
    expect(await fixture.linkOf(chatId)).toBeUndefined();
  });

  test.each([
    ['responds with 500', { status: 500 }, 502, 'PLATFORM_ERROR', null],
    ['sends invalid JSON', { broken: true }, 502, 'PLATFORM_ERROR', null],
    ['resets the connection', { reset: true }, 502, 'PLATFORM_ERROR', null],
    ['responds with 429', { status: 429, retry_after: 1 }, 503, 'UNAVAILABLE', '1'],
  ])(
    'a game platform that %s is an error of its own, and nothing is saved',
    async (_what, fault, status, code, retryAfter) => {
      const { chatId } = newAccounts();
      await faults('POST', { match: '/v1/users', ...fault });
      const response = await linkWithoutName(chatId, 7002, { key: 'down' });
      expect(response).toMatchObject({ status, body: { details: { code } } });
      expect(response.headers.get('retry-after')).toBe(retryAfter);
      expect(await fixture.linkOf(chatId)).toBeUndefined();
      expect(await fixture.query('SELECT 1 FROM members.intents WHERE chat_id = $1', [chatId])).toEqual([]);
      expect(await fixture.query("SELECT 1 FROM members.idempotency WHERE key = 'down'")).toEqual([]);
      await fixture.advance(1_000);
    },
  );

  test('is a 409 if either account is linked in the guild, but not if it is linked in another guild', async () => {
    const { chatId, gameId } = newAccounts();
    await fixture.link(chatId, gameId);
    const other = newAccounts();
    await fixture.link(other.chatId, other.gameId);
    for (const response of [
      await fixture.link(chatId, gameId),
      await fixture.link(chatId, newAccounts().gameId),
      await fixture.link(newAccounts().chatId, gameId),
      await fixture.link(chatId, other.gameId),
    ]) {
      expect(response.status).toBe(409);
      expect(response.body).toEqual({
        status: 'error',
        code: 409,
        message: 'One of the two accounts is linked in this guild already',
        details: { code: 'CONFLICT', conflict: { chat_id: chatId, game_id: gameId } },
      });
    }
    const body = { guild_id: OTHER_GUILD, chat_id: chatId, game_id: gameId, game_username: 'Player' };
    expect((await fixture.post('/verification/link', body, { guildId: OTHER_GUILD })).status).toBe(201);
  });

  test('12 concurrent links of one account create one link', async () => {
    const { chatId } = newAccounts();
    const players = Array.from({ length: 12 }, () => newAccounts().gameId);
    const responses = await Promise.all(players.map((player) => fixture.link(chatId, player)));
    expect(statusesOf(responses)).toEqual([201, ...Array<number>(11).fill(409)]);
    const winner = responses.find(({ status }) => status === 201);
    expect(await fixture.linkOf(chatId)).toMatchObject({ gameId: winner?.body.data.game_id });
  });

  test('12 concurrent links of the same two accounts have one 201', async () => {
    const { chatId, gameId } = newAccounts();
    const responses = await Promise.all(Array.from({ length: 12 }, () => fixture.link(chatId, gameId)));
    expect(statusesOf(responses)).toEqual([201, ...Array<number>(11).fill(409)]);
  });

  test('lists all faults in one response, and rejects another guild', async () => {
    const response = await fixture.post('/verification/link', { chat_id: 'x', game_id: 1.5, game_username: '' });
    expect(pathsOf(response)).toEqual(['body.guild_id', 'body.chat_id', 'body.game_id', 'body.game_username']);
    expect(pathsOf(await fixture.post('/verification/link', []))).toEqual([
      'body.guild_id',
      'body.chat_id',
      'body.game_id',
    ]);
    const other = await fixture.post('/verification/link', { guild_id: OTHER_GUILD });
    expect(other).toMatchObject({ status: 403, body: { details: { code: 'GUILD_MISMATCH' } } });
  });
});

describe('POST /verification/unlink', () => {
  test('removes a link by either account', async () => {
    for (const by of ['chat_id', 'game_id'] as const) {
      const { chatId, gameId } = newAccounts();
      await fixture.link(chatId, gameId);
      const response = await fixture.unlink({ [by]: by === 'chat_id' ? chatId : gameId });
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        status: 'success',
        code: 200,
        message: 'Accounts unlinked',
        data: { unlinked: true, chat_id: chatId, game_id: gameId },
      });
      expect(await fixture.linkOf(chatId)).toBeUndefined();
      expect((await fixture.link(chatId, gameId)).status).toBe(201);
    }
  });

  test('is a 404 for an account that is not linked in the guild', async () => {
    const { chatId, gameId } = newAccounts();
    await fixture.link(chatId, gameId);
    const elsewhere = { guild_id: OTHER_GUILD, chat_id: chatId };
    for (const response of [
      await fixture.unlink({ chat_id: newAccounts().chatId }),
      await fixture.unlink({ game_id: newAccounts().gameId }),
      await fixture.post('/verification/unlink', elsewhere, { guildId: OTHER_GUILD }),
    ]) {
      expect(response.status).toBe(404);
      expect(response.body).toEqual({
        status: 'error',
        code: 404,
        message: 'The user is not linked in this guild',
        details: { code: 'NOT_FOUND' },
      });
    }
    expect(await fixture.linkOf(chatId)).toBeDefined();
  });

  test('one of 5 concurrent unlinks removes the link', async () => {
    const { chatId, gameId } = newAccounts();
    await fixture.link(chatId, gameId);
    const responses = await Promise.all(Array.from({ length: 5 }, () => fixture.unlink({ chat_id: chatId })));
    expect(statusesOf(responses)).toEqual([200, 404, 404, 404, 404]);
  });

  test('requires exactly one account, and rejects another guild', async () => {
    expect(pathsOf(await fixture.unlink({}))).toEqual(['body']);
    expect(pathsOf(await fixture.unlink({ chat_id: newAccounts().chatId, game_id: 1 }))).toEqual(['body']);
    expect(pathsOf(await fixture.unlink({ chat_id: null, game_id: 'x' }))).toEqual(['body.game_id']);
    const other = await fixture.post('/verification/unlink', { guild_id: OTHER_GUILD });
    expect(other).toMatchObject({ status: 403, body: { details: { code: 'GUILD_MISMATCH' } } });
  });
});
