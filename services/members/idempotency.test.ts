import { afterAll, beforeAll, expect, test } from 'vitest';
import { GUILD, MembersFixture, newAccounts, OTHER_GUILD } from './fixture.ts';

const fixture = new MembersFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const replayed = (response: { headers: Headers }) => response.headers.get('idempotency-replayed');
let lastKey = 0;
const newKey = () => `key-${++lastKey}`;

test('a repeat gets the first response with the same token and creates nothing', async () => {
  const key = newKey();
  const { chatId } = newAccounts();
  const body = { guild_id: GUILD, chat_id: chatId, ttl_seconds: 60 };
  const first = await fixture.post('/verification/tokens', body, { key });
  expect(replayed(first)).toBeNull();
  const repeat = await fixture.post(
    '/verification/tokens',
    { ttl_seconds: 60, chat_id: chatId, guild_id: GUILD },
    { key },
  );
  expect(replayed(repeat)).toBe('true');
  expect(repeat.status).toBe(201);
  expect(repeat.body).toEqual(first.body);
  const rows = await fixture.query('SELECT 1 FROM members.verification_tokens WHERE chat_id = $1', [chatId]);
  expect(rows).toHaveLength(1);
});

test('link, redeem and unlink repeat their first responses, even after later changes', async () => {
  const { chatId, gameId } = newAccounts();
  const { code } = await fixture.token(chatId);
  const [redeemKey, unlinkKey, linkKey] = [newKey(), newKey(), newKey()];
  const redeemed = await fixture.redeem({ code }, gameId, { key: redeemKey });
  const unlinked = await fixture.unlink({ chat_id: chatId }, { key: unlinkKey });
  const linked = await fixture.link(chatId, gameId, { key: linkKey });
  expect([redeemed, unlinked, linked].map(({ status }) => status)).toEqual([200, 200, 201]);
  await fixture.unlink({ chat_id: chatId });
  const repeats = [
    await fixture.redeem({ code }, gameId, { key: redeemKey }),
    await fixture.unlink({ chat_id: chatId }, { key: unlinkKey }),
    await fixture.link(chatId, gameId, { key: linkKey }),
  ];
  expect(repeats.map(replayed)).toEqual(['true', 'true', 'true']);
  expect(repeats.map(({ body }) => body)).toEqual([redeemed.body, unlinked.body, linked.body]);
  expect(await fixture.linkOf(chatId)).toBeUndefined();
});

test('404 and 409 are stored and repeated, even when their reason no longer exists', async () => {
  const { chatId, gameId } = newAccounts();
  const [unlinkKey, linkKey, redeemKey] = [newKey(), newKey(), newKey()];
  const notLinked = await fixture.unlink({ chat_id: chatId }, { key: unlinkKey });
  const noCode = await fixture.redeem({ code: 'AAAAAAAA' }, gameId, { key: redeemKey });
  await fixture.link(chatId, newAccounts().gameId);
  const taken = await fixture.link(chatId, gameId, { key: linkKey });
  expect([notLinked, noCode, taken].map(({ status }) => status)).toEqual([404, 404, 409]);
  const repeats = [await fixture.unlink({ chat_id: chatId }, { key: unlinkKey })];
  await fixture.unlink({ chat_id: chatId });
  repeats.push(
    await fixture.redeem({ code: 'AAAAAAAA' }, gameId, { key: redeemKey }),
    await fixture.link(chatId, gameId, { key: linkKey }),
  );
  expect(repeats.map(replayed)).toEqual(['true', 'true', 'true']);
  expect(repeats.map(({ body }) => body)).toEqual([notLinked.body, noCode.body, taken.body]);
});

test('400 is not stored: the same key can be used with a corrected body', async () => {
  const key = newKey();
  const { chatId, gameId } = newAccounts();
  expect((await fixture.link('x', gameId, { key })).status).toBe(400);
  const unknown = await fixture.post(
    '/verification/link',
    { guild_id: GUILD, chat_id: chatId, game_id: gameId },
    { key },
  );
  expect(unknown.body.details.code).toBe('INVALID_TARGET');
  const corrected = await fixture.link(chatId, gameId, { key });
  expect(corrected.status).toBe(201);
  expect(replayed(corrected)).toBeNull();
});

test('another body with the same key is a 409; another path, key or guild is a separate write', async () => {
  const key = newKey();
  const [one, other] = [newAccounts(), newAccounts()];
  expect((await fixture.link(one.chatId, one.gameId, { key })).status).toBe(201);
  const conflict = await fixture.link(other.chatId, other.gameId, { key });
  expect(conflict).toMatchObject({ status: 409, body: { details: { code: 'CONFLICT' } } });
  expect(conflict.body.message).toBe('This Idempotency-Key was used with another body');
  expect(await fixture.linkOf(other.chatId)).toBeUndefined();
  expect((await fixture.unlink({ chat_id: one.chatId }, { key })).status).toBe(200);
  expect((await fixture.link(one.chatId, one.gameId, { key: newKey() })).status).toBe(201);
  const elsewhere = { guild_id: OTHER_GUILD, chat_id: one.chatId, game_id: one.gameId, game_username: 'Player' };
  expect((await fixture.post('/verification/link', elsewhere, { key, guildId: OTHER_GUILD })).status).toBe(201);
});

test('of concurrent writes with one key one is executed; the others get its response or 409', async () => {
  const key = newKey();
  const { chatId, gameId } = newAccounts();
  const responses = await Promise.all(Array.from({ length: 10 }, () => fixture.link(chatId, gameId, { key })));
  expect(responses.filter((response) => response.status === 201 && !replayed(response))).toHaveLength(1);
  const running = responses.filter(({ status }) => status === 409);
  for (const response of running) {
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.body.message).toContain('still running');
  }
  expect(responses.filter((response) => response.status === 201).length + running.length).toBe(10);
  expect(replayed(await fixture.link(chatId, gameId, { key }))).toBe('true');
});

test.each([
  ['', 'empty'],
  ['x'.repeat(129), 'too long'],
])('key %j is a 400 (%s)', async (key) => {
  const response = await fixture.link(newAccounts().chatId, newAccounts().gameId, { key });
  expect(response.status).toBe(400);
  expect(response.body.details.errors[0].path).toBe('header.Idempotency-Key');
});

test('responses are stored for 24 hours', async () => {
  const key = newKey();
  const { chatId, gameId } = newAccounts();
  await fixture.link(chatId, gameId, { key });
  await fixture.advance(24 * 3600_000 - 60_000);
  expect(replayed(await fixture.link(chatId, gameId, { key }))).toBe('true');
  await fixture.advance(60_000);
  expect((await fixture.link(chatId, gameId, { key })).status).toBe(409);
});
