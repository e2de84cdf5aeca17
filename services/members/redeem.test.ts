import { afterAll, beforeAll, expect, test } from 'vitest';
import { GUILD, MembersFixture, newAccounts, OTHER_GUILD, statusesOf } from './fixture.ts';

const fixture = new MembersFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const notFound = {
  status: 'error',
  code: 404,
  message: 'The code is wrong, used or expired',
  details: { code: 'NOT_FOUND' },
};
const taken = {
  status: 'error',
  code: 409,
  message: 'One of the two accounts is linked in this guild already',
  details: { code: 'CONFLICT' },
};
const statusOf = async (token: string) => (await fixture.get(`/verification/tokens/${token}`)).body.data.status;

test('a code links its chat account with the player who typed it', async () => {
  const { chatId, gameId } = newAccounts();
  const { code } = await fixture.token(chatId);
  const response = await fixture.redeem({ code }, gameId);
  expect(response.status).toBe(200);
  expect(response.body).toEqual({
    status: 'success',
    code: 200,
    message: 'Account verified',
    data: { chat_id: chatId, game_id: gameId, game_username: 'Player', verified: true },
  });
  expect(await fixture.linkOf(chatId)).toMatchObject({ chatId, gameId });
});

test('a token does the same, and a code may be typed in lower case with dashes and spaces', async () => {
  const one = newAccounts();
  expect((await fixture.redeem({ token: (await fixture.token(one.chatId)).token }, one.gameId)).status).toBe(200);
  const other = newAccounts();
  const { code } = await fixture.token(other.chatId);
  const typed = ` ${code.slice(0, 4).toLowerCase()}-${code.slice(4)} `;
  expect((await fixture.redeem({ code: typed }, other.gameId)).status).toBe(200);
});

test('wrong, used and expired codes and codes of another guild have the same response', async () => {
  const { chatId, gameId } = newAccounts();
  const used = await fixture.token(chatId);
  await fixture.redeem({ code: used.code }, gameId);
  const expired = await fixture.token(newAccounts().chatId, { ttl_seconds: 60 });
  fixture.clock.advance(60_000);
  const valid = await fixture.token(newAccounts().chatId);
  const elsewhere = { guild_id: OTHER_GUILD, code: valid.code, game_id: 5, game_username: 'Player' };
  const responses = [
    await fixture.redeem({ code: 'AAAAAAAA' }, 5),
    await fixture.redeem({ token: 'nonsense' }, 5),
    await fixture.redeem({ code: used.code }, 5),
    await fixture.redeem({ token: used.token }, gameId),
    await fixture.redeem({ code: expired.code }, 5),
    await fixture.post('/verification/redeem', elsewhere, { guildId: OTHER_GUILD }),
    // A code does not work as a token, nor a token as a code.
    await fixture.redeem({ token: valid.code }, 5),
    await fixture.redeem({ code: valid.token }, 5),
  ];
  for (const response of responses) {
    expect(response.status).toBe(404);
    expect(response.body).toEqual(notFound);
  }
  expect(await statusOf(valid.token)).toBe('pending');
});

test('if either account is linked the response is 409, and the code still works for another player', async () => {
  const linked = newAccounts();
  const ownToken = await fixture.token(linked.chatId);
  await fixture.link(linked.chatId, linked.gameId);
  const { chatId, gameId } = newAccounts();
  const token = await fixture.token(chatId);
  for (const [code, player] of [
    [ownToken.code, gameId],
    [token.code, linked.gameId],
  ] as const) {
    const response = await fixture.redeem({ code }, player);
    expect(response.status).toBe(409);
    const conflict = { chat_id: linked.chatId, game_id: linked.gameId };
    expect(response.body).toEqual({ ...taken, details: { ...taken.details, conflict } });
  }
  expect(await statusOf(token.token)).toBe('pending');
  expect((await fixture.redeem({ code: token.code }, gameId)).status).toBe(200);
  expect(await statusOf(token.token)).toBe('completed');
});

test('of 20 concurrent redeems of one code one links the player, and the others get 404', async () => {
  const { chatId } = newAccounts();
  const { code, token } = await fixture.token(chatId);
  const players = Array.from({ length: 20 }, () => newAccounts().gameId);
  const responses = await Promise.all(players.map((player) => fixture.redeem({ code }, player)));
  const winner = responses.findIndex(({ status }) => status === 200);
  expect(statusesOf(responses)).toEqual([200, ...Array<number>(19).fill(404)]);
  expect(await fixture.linkOf(chatId)).toMatchObject({ gameId: players[winner] });
  expect(await statusOf(token)).toBe('completed');
});

test('concurrent redeems by linked players do not use up the code', async () => {
  const linked = [newAccounts(), newAccounts()];
  for (const { chatId, gameId } of linked) await fixture.link(chatId, gameId);
  const { chatId, gameId } = newAccounts();
  const { code } = await fixture.token(chatId);
  const players = [...linked.map((accounts) => accounts.gameId), gameId];
  const responses = await Promise.all(players.map((player) => fixture.redeem({ code }, player)));
  expect(responses.at(-1)?.status).toBe(200);
  for (const response of responses.slice(0, -1)) expect([404, 409]).toContain(response.status);
});

test('all faults are listed in one response, and another guild is rejected', async () => {
  const faultsOf = async (body: unknown) => {
    const response = await fixture.post('/verification/redeem', body);
    expect(response.status).toBe(400);
    return response.body.details.errors.map(({ path }: { path: string }) => path);
  };
  expect(await faultsOf({})).toEqual(['body.guild_id', 'body.game_id', 'body.game_username', 'body']);
  expect(await faultsOf({ guild_id: GUILD, code: 5, token: '', game_id: 0, game_username: 'a\nb' })).toEqual([
    'body.code',
    'body.token',
    'body.game_id',
    'body.game_username',
    'body',
  ]);
  const other = await fixture.post('/verification/redeem', { guild_id: OTHER_GUILD });
  expect(other).toMatchObject({ status: 403, body: { details: { code: 'GUILD_MISMATCH' } } });
});
