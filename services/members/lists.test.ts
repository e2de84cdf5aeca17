import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeCursor } from '#kit/cursor.ts';
import { GUILD, MembersFixture, newAccounts, OTHER_GUILD } from './fixture.ts';

const fixture = new MembersFixture();
const accounts = Array.from({ length: 7 }, newAccounts);

beforeAll(async () => {
  await fixture.start();
  for (const { chatId, gameId } of accounts) {
    await fixture.link(chatId, gameId);
    fixture.clock.advance(1_000);
  }
});
afterAll(() => fixture.stop());

const recordOf = ({ chatId, gameId }: { chatId: string; gameId: number }) => ({
  chat_id: chatId,
  game_id: gameId,
  game_username: 'Player',
  verified: true,
});
const list = (query = '', guildId = GUILD) => fixture.get(`/guilds/${guildId}/verified${query}`, { guildId });
const faultsOf = (answer: { body: { details: { errors: { path: string }[] } } }) =>
  answer.body.details.errors.map(({ path }) => path);

describe('GET /guilds/:guildId/verified', () => {
  test('tells everybody who is verified, the least recently changed first', async () => {
    const answer = await list();
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Verified users listed',
      data: { users: accounts.map(recordOf), next_cursor: null },
    });
    expect((await list('', OTHER_GUILD)).body.data).toEqual({ users: [], next_cursor: null });
  });

  test('pages hold everybody once', async () => {
    const found: unknown[] = [];
    const sizes: number[] = [];
    for (let query: string | undefined = '?limit=3'; query !== undefined; ) {
      const { data }: { data: { users: unknown[]; next_cursor: string | null } } = (await list(query)).body;
      found.push(...data.users);
      sizes.push(data.users.length);
      query = data.next_cursor === null ? undefined : `?limit=3&cursor=${data.next_cursor}`;
    }
    expect(found).toEqual(accounts.map(recordOf));
    expect(sizes).toEqual([3, 3, 1]);
  });

  test('updated_since tells who was linked since, and a little before', async () => {
    const since = Math.floor(fixture.clock.now() / 1000);
    const { users } = (await list(`?updated_since=${since}`)).body.data;
    expect(users.length).toBeGreaterThanOrEqual(4);
    expect(users).toEqual(accounts.slice(-users.length).map(recordOf));
    expect((await list(`?updated_since=${since + 60}`)).body.data.users).toEqual([]);
  });

  test('a cursor belongs to its guild and its filters, and can not be made up', async () => {
    const { next_cursor: cursor } = (await list('?limit=1')).body.data;
    const madeUp = (position: string) => encodeCursor({ route: 'listVerified', guildId: GUILD }, position);
    for (const answer of [
      await list(`?cursor=${cursor}`, OTHER_GUILD),
      await list(`?cursor=${cursor}&updated_since=1`),
      await list('?cursor=nonsense'),
      await list(`?cursor=${madeUp('nonsense')}`),
      await list(`?cursor=${madeUp(`1_${'9'.repeat(99)}`)}`),
    ]) {
      expect(answer.status).toBe(400);
      expect(faultsOf(answer)).toEqual(['query.cursor']);
    }
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['updated_since=-1', 'updated_since'],
    ['updated_since=2026-01-01', 'updated_since'],
  ])('refuses %s', async (query, field) => {
    const answer = await list(`?${query}`);
    expect(answer.status).toBe(400);
    expect(faultsOf(answer)).toEqual([`query.${field}`]);
  });
});

describe('GET /guilds/:guildId/links/:chatId', () => {
  test('tells the link and what became of earlier ones, newest first', async () => {
    const { chatId, gameId } = newAccounts();
    const second = newAccounts().gameId;
    const times: number[] = [];
    const step = async (change: Promise<unknown>) => {
      times.unshift(Math.floor(fixture.clock.now() / 1000));
      await change;
      fixture.clock.advance(1_000);
    };
    await step(fixture.link(chatId, gameId));
    await step(fixture.unlink({ chat_id: chatId }));
    await step(fixture.link(chatId, second));
    const answer = await fixture.get(`/guilds/${GUILD}/links/${chatId}`);
    const change = (action: string, player: number, index: number) => ({
      action,
      chat_id: chatId,
      game_id: player,
      game_username: 'Player',
      created_at: times[index],
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Links listed',
      data: {
        link: recordOf({ chatId, gameId: second }),
        history: [change('linked', second, 0), change('unlinked', gameId, 1), change('linked', gameId, 2)],
      },
    });
    await fixture.unlink({ game_id: second });
    const { link, history } = (await fixture.get(`/guilds/${GUILD}/links/${chatId}`)).body.data;
    expect(link).toBeNull();
    expect(history).toHaveLength(4);
  });

  test('an account that was never linked has neither, and a malformed ID is a 400', async () => {
    const { chatId } = newAccounts();
    expect((await fixture.get(`/guilds/${GUILD}/links/${chatId}`)).body.data).toEqual({ link: null, history: [] });
    expect(faultsOf(await fixture.get(`/guilds/${GUILD}/links/7`))).toEqual(['path.chatId']);
  });
});
