import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLog } from '#kit/telemetry/log.ts';
import { TEST_SECRETS, testKeys } from '#test/system/keys.ts';
import { GUILD, MembersFixture, newAccounts, OTHER_GUILD } from './fixture.ts';

const fixture = new MembersFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const faultsOf = (response: { body: { details: { errors: { path: string }[] } } }) =>
  response.body.details.errors.map(({ path }) => path);
const statusOf = async (token: string) => (await fixture.get(`/verification/tokens/${token}`)).body.data;

describe('POST /verification/tokens', () => {
  test('creates a token and a code with their expiry time', async () => {
    const { chatId } = newAccounts();
    const response = await fixture.post('/verification/tokens', { guild_id: GUILD, chat_id: chatId });
    expect(response.status).toBe(201);
    expect(response.body).toEqual({
      status: 'success',
      code: 201,
      message: 'Verification token created',
      data: {
        token: expect.stringMatching(/^[0-9A-Za-z]{32}$/),
        code: expect.stringMatching(/^[2-9ACDEFHJKMNPRTVWXY]{8}$/),
        expires_at: Math.floor(fixture.clock.now() / 1000) + 900,
      },
    });
  });

  test.each([60, 1800])('accepts a ttl of %i seconds', async (ttl) => {
    const { expires_at } = await fixture.token(newAccounts().chatId, { ttl_seconds: ttl });
    expect(expires_at).toBe(Math.floor(fixture.clock.now() / 1000) + ttl);
  });

  test.each([59, 1801, 60.5, '900', true])('rejects a ttl of %s', async (ttl) => {
    const body = { guild_id: GUILD, chat_id: newAccounts().chatId, ttl_seconds: ttl };
    const response = await fixture.post('/verification/tokens', body);
    expect(response.status).toBe(400);
    expect(faultsOf(response)).toEqual(['body.ttl_seconds']);
  });

  test('lists all faults in one response, and rejects another guild', async () => {
    const bad = await fixture.post('/verification/tokens', { chat_id: 7, ttl_seconds: 0 });
    expect(faultsOf(bad)).toEqual(['body.guild_id', 'body.chat_id', 'body.ttl_seconds']);
    const other = await fixture.post('/verification/tokens', { guild_id: OTHER_GUILD, chat_id: '1' });
    expect(other).toMatchObject({ status: 403, body: { details: { code: 'GUILD_MISMATCH' } } });
  });

  test('responds with 409 and the link for a linked account, and succeeds again after an unlink', async () => {
    const { chatId, gameId } = newAccounts();
    await fixture.link(chatId, gameId);
    const body = { guild_id: GUILD, chat_id: chatId };
    expect(await fixture.post('/verification/tokens', body)).toMatchObject({
      status: 409,
      body: { details: { code: 'CONFLICT', conflict: { chat_id: chatId, game_id: gameId } } },
    });
    await fixture.post('/verification/unlink', body);
    expect((await fixture.post('/verification/tokens', body)).status).toBe(201);
  });

  test('a newer token leaves older ones of the account valid', async () => {
    const { chatId } = newAccounts();
    const older = await fixture.token(chatId);
    await fixture.token(chatId);
    expect((await statusOf(older.token)).status).toBe('pending');
  });

  test('neither token nor code is in the database in plain text, not even in stored responses', async () => {
    const { chatId } = newAccounts();
    const body = { guild_id: GUILD, chat_id: chatId };
    const { token, code } = (await fixture.post('/verification/tokens', body, { key: 'kept' })).body.data;
    const tokens = await fixture.query('SELECT t::text FROM members.verification_tokens t');
    const responses = await fixture.query('SELECT i::text FROM members.idempotency i');
    expect(responses).toHaveLength(1);
    const everything = JSON.stringify([tokens, responses]);
    for (const secret of [token, code]) {
      expect(everything).not.toContain(secret);
      expect(everything).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });
});

describe('GET /verification/tokens/:token', () => {
  test('is pending until its expiry time, then expired', async () => {
    const { chatId } = newAccounts();
    const { token, expires_at } = await fixture.token(chatId, { ttl_seconds: 60 });
    const response = await fixture.get(`/verification/tokens/${token}`);
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Verification token found',
      data: { status: 'pending', chat_id: chatId, game_id: null, expires_at },
    });
    fixture.clock.advance(59_999);
    expect((await statusOf(token)).status).toBe('pending');
    fixture.clock.advance(1);
    expect(await statusOf(token)).toEqual({ status: 'expired', chat_id: chatId, game_id: null, expires_at });
  });

  test('is completed with the player, also after its expiry time', async () => {
    const { chatId, gameId } = newAccounts();
    const { token, expires_at } = await fixture.token(chatId);
    await fixture.redeem({ token }, gameId);
    fixture.clock.advance(901_000);
    expect(await statusOf(token)).toEqual({ status: 'completed', chat_id: chatId, game_id: gameId, expires_at });
  });

  test('responds alike for an unknown token, a code and a token of another guild', async () => {
    const { token, code } = await fixture.token(newAccounts().chatId);
    const responses = await Promise.all([
      fixture.get('/verification/tokens/nonsense'),
      fixture.get(`/verification/tokens/${code}`),
      fixture.get(`/verification/tokens/${token}`, { guildId: OTHER_GUILD }),
    ]);
    for (const response of responses) {
      expect(response.status).toBe(404);
      expect(response.body).toEqual({
        status: 'error',
        code: 404,
        message: 'No such token in this guild',
        details: { code: 'NOT_FOUND' },
      });
    }
    expect(faultsOf(await fixture.get(`/verification/tokens/${'x'.repeat(129)}`))).toEqual(['path.token']);
  });
});

test('tokens created with the older secret still work while both secrets are configured', async () => {
  const { chatId, gameId } = newAccounts();
  const { token, code } = await fixture.token(chatId);
  const INTERNAL_KEYS = testKeys({ internal: ['the newer secret of more than 32 bytes', ...TEST_SECRETS] });
  const replica = await fixture.startMembers({ INTERNAL_KEYS });
  const lookup = await fixture.startLookup({ INTERNAL_KEYS });
  const rotated = await fixture.startMembers({ INTERNAL_KEYS, LOOKUP_GRPC_ADDRESS: lookup.addresses.grpc });
  expect((await fixture.get(`/verification/tokens/${token}`, { at: replica })).body.data.status).toBe('pending');
  expect((await fixture.redeem({ code }, gameId, { at: rotated })).status).toBe(200);
  for (const service of [replica, rotated, lookup]) await service.stop();
});

test('neither token nor code appears in logs or metrics', async () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const at = await fixture.startMembers({}, await createLog({ service: 'members', level: 'trace', destination }));
  const [one, other] = [newAccounts(), newAccounts()];
  const made = [await fixture.token(one.chatId), await fixture.token(other.chatId)] as const;
  await fixture.post('/verification/tokens', { guild_id: GUILD, chat_id: one.chatId }, { at });
  await fixture.redeem({ code: made[0].code }, one.gameId, { at });
  await fixture.redeem({ code: made[0].code }, other.gameId, { at });
  await fixture.redeem({ token: made[1].token }, one.gameId, { at });
  await fixture.get(`/verification/tokens/${made[1].token}`, { at });
  const metrics = await (await fetch(`http://${at.addresses.admin}/metrics`)).text();
  await at.stop();
  const messages = lines.map((line) => JSON.parse(line).msg);
  const expected = [
    'verification token created',
    'account link change done: redeem',
    'verification code or token rejected',
    'account link change rejected: redeem',
  ];
  expect(messages).toEqual(expect.arrayContaining(expected));
  expect(metrics).toContain('members_link_changes_total{kind="redeem",outcome="done"} 1');
  for (const secret of made.flatMap(({ token, code }) => [token, code])) {
    expect(lines.join('') + metrics).not.toContain(secret);
  }
});
