import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '#kit/service/service.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { callService, type ServiceRequest, testEnvironment } from '#test/system/signed-calls.ts';
import { lookupService } from '../service.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000002';
const ADA = { chatId: '920000000000000001', gameId: 7001, gameUsername: 'AdaBuilds' };
const BEN = { chatId: '920000000000000002', gameId: 9007199254740991, gameUsername: 'Ben' };
const NOBODY = '920000000000000009';

const adaRecord = { chat_id: ADA.chatId, game_id: 7001, game_username: 'AdaBuilds', verified: true };
const benRecord = { chat_id: BEN.chatId, game_id: 9007199254740991, game_username: 'Ben', verified: true };
const notVerified = {
  status: 'error',
  code: 404,
  message: 'The user is not verified in this guild',
  details: { code: 'NOT_FOUND' },
};

let database: TestDatabase;
let lookup: RunningService;

beforeAll(async () => {
  database = await createTestDatabase();
  lookup = await startService(lookupService, testEnvironment(database.url));
  const { client, close } = connect(LookupServiceService, 'lookup', lookup.addresses.grpc ?? '');
  for (const link of [ADA, BEN]) await client.createLink({ guildId: GUILD, operationId: randomUUID(), ...link });
  close();
});

afterAll(async () => {
  await lookup.stop();
  await database.drop();
});

const call = (request: ServiceRequest, guildId = GUILD) =>
  callService({ address: lookup.addresses.http ?? '', audience: 'lookup' }, { guildId }, request);

const get = (path: string, guildId = GUILD) => call({ method: 'GET', path }, guildId);
const post = (path: string, body: unknown, guildId = GUILD) => call({ method: 'POST', path, body }, guildId);
const faultsOf = (response: { body: { details: { errors: { path: string }[] } } }) =>
  response.body.details.errors.map(({ path }) => path);

describe('the link of one user', () => {
  test('is found by either account and has exactly four fields', async () => {
    const found = { status: 'success', code: 200, message: 'User found', data: adaRecord };
    for (const path of [`/lookup/chat/${ADA.chatId}`, '/lookup/game/7001']) {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.body).toEqual(found);
    }
    expect((await get('/lookup/game/9007199254740991')).body.data).toEqual(benRecord);
  });

  test('is a 404 for an unverified user and for one who is linked only in another guild', async () => {
    for (const path of [`/lookup/chat/${NOBODY}`, '/lookup/game/1']) {
      expect(await get(path)).toMatchObject({ status: 404, body: notVerified });
    }
    for (const path of [`/lookup/chat/${ADA.chatId}`, '/lookup/game/7001']) {
      expect(await get(path, OTHER_GUILD)).toMatchObject({ status: 404, body: notVerified });
    }
  });

  test.each(['0', '-1', '1.5', '1e3', '9007199254740992', '007', 'abc'])('is a 400 for game ID %s', async (id) => {
    const response = await get(`/lookup/game/${id}`);
    expect(response.status).toBe(400);
    expect(response.body.details).toEqual({
      code: 'INVALID_REQUEST',
      errors: [{ path: 'path.gameId', message: 'must be a game ID: a whole number from 1 to 9007199254740991' }],
    });
  });

  test.each(['1', '09000000000000000001', '18446744073709551616', 'ada'])('is a 400 for chat ID %s', async (id) => {
    const response = await get(`/lookup/chat/${id}`);
    expect(response.status).toBe(400);
    expect(faultsOf(response)).toEqual(['path.chatId']);
  });

  test('a repeated query parameter is a 400', async () => {
    expect(faultsOf(await get(`/lookup/chat/${ADA.chatId}?a=1&a=2`))).toEqual(['query.a']);
  });
});

describe('POST /reverse', () => {
  test('finds by chat_id, and by game_id as number or digits', async () => {
    for (const user of [{ chat_id: ADA.chatId }, { game_id: 7001 }, { game_id: '7001' }]) {
      const response = await post('/reverse', { guild_id: GUILD, ...user });
      expect(response.body).toEqual({ status: 'success', code: 200, message: 'User found', data: adaRecord });
    }
    expect(await post('/reverse', { guild_id: GUILD, chat_id: NOBODY })).toMatchObject({
      status: 404,
      body: notVerified,
    });
  });

  test('requires exactly one of the two, and lists every fault', async () => {
    expect(faultsOf(await post('/reverse', { guild_id: GUILD }))).toEqual(['body']);
    expect(faultsOf(await post('/reverse', { guild_id: GUILD, chat_id: ADA.chatId, game_id: 7001 }))).toEqual(['body']);
    expect(faultsOf(await post('/reverse', { chat_id: 1, game_id: 'x' }))).toEqual([
      'body.guild_id',
      'body.chat_id',
      'body.game_id',
      'body',
    ]);
    expect(faultsOf(await post('/reverse', []))).toEqual(['body.guild_id', 'body']);
  });
});

describe('POST /lookup/status', () => {
  test('returns each chat ID once, with null for unverified users', async () => {
    const chatIds = [ADA.chatId, NOBODY, ADA.chatId, BEN.chatId];
    const response = await post('/lookup/status', { guild_id: GUILD, chat_ids: chatIds });
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Users looked up',
      data: { results: { [ADA.chatId]: adaRecord, [BEN.chatId]: benRecord, [NOBODY]: null } },
    });
  });

  test('accepts game IDs as numbers or digits, and returns them as digits', async () => {
    const response = await post('/lookup/status', { guild_id: GUILD, game_ids: [7001, '7001', '9007199254740991', 5] });
    expect(response.body.data.results).toEqual({ '7001': adaRecord, '9007199254740991': benRecord, '5': null });
  });

  test('accepts up to 25 IDs, an empty list, and null for the other list; rejects 26', async () => {
    const ids = Array.from({ length: 26 }, (_, index) => index + 1);
    const good = await post('/lookup/status', { guild_id: GUILD, game_ids: ids.slice(1), chat_ids: null });
    expect(Object.keys(good.body.data.results)).toHaveLength(25);
    expect((await post('/lookup/status', { guild_id: GUILD, game_ids: [] })).body.data).toEqual({ results: {} });
    const bad = await post('/lookup/status', { guild_id: GUILD, game_ids: ids });
    expect(bad.status).toBe(400);
    expect(bad.body.details.errors).toEqual([{ path: 'body.game_ids', message: 'must hold at most 25 IDs' }]);
  });

  test('lists every fault in one response', async () => {
    const response = await post('/lookup/status', { chat_ids: ['1', ADA.chatId, 5], game_ids: [0, 'x'] });
    expect(faultsOf(response)).toEqual([
      'body.guild_id',
      'body.chat_ids[0]',
      'body.chat_ids[2]',
      'body.game_ids[0]',
      'body.game_ids[1]',
      'body',
    ]);
    expect(response.body.details.errors[0]).toEqual({ path: 'body.guild_id', message: 'is required' });
  });

  test('the ID of another guild is a 403, even if other fields are invalid', async () => {
    const response = await post('/lookup/status', { guild_id: OTHER_GUILD, chat_ids: 'x' });
    expect(response).toMatchObject({ status: 403, body: { details: { code: 'GUILD_MISMATCH' } } });
    expect(response.body.message).toBe('API key does not match target guild');
  });

  test('field names with a special meaning in JavaScript have no effect', async () => {
    const body = `{"guild_id": "${GUILD}", "game_ids": [7001], "__proto__": {"chat_ids": ["x"]}, "constructor": 1}`;
    const response = await post('/lookup/status', body);
    expect(response.body.data.results).toEqual({ '7001': adaRecord });
  });
});

test('a request that the gateway has not signed for this service is rejected', async () => {
  const request = { method: 'GET', path: '/lookup/game/7001' };
  const other = { address: lookup.addresses.http ?? '', audience: 'bindings' };
  expect((await callService(other, { guildId: GUILD }, request)).status).toBe(401);
});

test('without its database every route responds with 503 and Retry-After', async () => {
  const lost = await createTestDatabase();
  const service = await startService(lookupService, testEnvironment(lost.url));
  const own = { address: service.addresses.http ?? '', audience: 'lookup' };
  await lost.drop();
  for (const path of ['/lookup/game/7001', `/lookup/chat/${ADA.chatId}`]) {
    const response = await callService(own, { guildId: GUILD }, { method: 'GET', path });
    expect(response).toMatchObject({ status: 503, body: { details: { code: 'UNAVAILABLE' } } });
    expect(response.headers.get('retry-after')).toBe('1');
  }
  await service.stop();
});
