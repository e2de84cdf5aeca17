import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeCursor } from '#kit/http/cursor.ts';
import { GUILD, MembersFixture, newAccounts, OTHER_GUILD } from './fixture.ts';

const fixture = new MembersFixture();
const accounts = Array.from({ length: 7 }, newAccounts);

beforeAll(async () => {
  await fixture.start();
  for (const { chatId, gameId } of accounts) {
    await fixture.link(chatId, gameId);
    await fixture.advance(1_000);
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
const faultsOf = (response: { body: { details: { errors: { path: string }[] } } }) =>
  response.body.details.errors.map(({ path }) => path);

describe('GET /guilds/:guildId/verified', () => {
  test('lists all verified users, least recently changed first', async () => {
    const response = await list();
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Verified users listed',
      data: { users: accounts.map(recordOf), server_time: expect.any(Number), next_cursor: null },
    });
    expect((await list('', OTHER_GUILD)).body.data).toMatchObject({ users: [], next_cursor: null });
  });

  test('the pages contain every user exactly once', async () => {
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

  test('updated_since lists the users that were linked or unlinked since an earlier response', async () => {
    const [linked, unlinked] = [newAccounts(), newAccounts()];
    const there = { guildId: OTHER_GUILD };
    const link = ({ chatId, gameId }: typeof linked) => {
      const body = { guild_id: OTHER_GUILD, chat_id: chatId, game_id: gameId, game_username: 'Player' };
      return fixture.post('/verification/link', body, there);
    };
    await link(unlinked);
    // Longer than the safety margin that is subtracted from server_time.
    await fixture.advance(10_000);
    const first = (await list('', OTHER_GUILD)).body.data;
    expect(first).not.toHaveProperty('unlinked');
    expect(first.users).toEqual([recordOf(unlinked)]);
    await link(linked);
    await fixture.post('/verification/unlink', { guild_id: OTHER_GUILD, chat_id: unlinked.chatId }, there);
    const since = (await list(`?updated_since=${first.server_time}`, OTHER_GUILD)).body.data;
    expect(since).toEqual({
      users: [recordOf(linked)],
      unlinked: [{ chat_id: unlinked.chatId, game_id: unlinked.gameId, unlinked_at: expect.any(Number) }],
      server_time: expect.any(Number),
      next_cursor: null,
    });
    expect(since.server_time).toBeGreaterThanOrEqual(first.server_time);
    const pages: { users: unknown[]; unlinked: unknown[] }[] = [];
    for (let query: string | undefined = ''; query !== undefined; ) {
      const response = await list(`?limit=1&updated_since=${first.server_time}${query}`, OTHER_GUILD);
      const cursor = response.body.data.next_cursor as string | null;
      pages.push(response.body.data);
      query = cursor === null ? undefined : `&cursor=${cursor}`;
    }
    expect(pages.map(({ users, unlinked }) => [users.length, unlinked.length])).toEqual([
      [1, 0],
      [0, 1],
    ]);
    const later = (await list(`?updated_since=${since.server_time + 60}`, OTHER_GUILD)).body.data;
    expect([later.users, later.unlinked]).toEqual([[], []]);
  });

  test('a cursor is valid only for its guild and filters, and cannot be forged', async () => {
    const { next_cursor: cursor } = (await list('?limit=1')).body.data;
    const madeUp = (position: string) => encodeCursor({ route: 'listVerified', guildId: GUILD }, position);
    for (const response of [
      await list(`?cursor=${cursor}`, OTHER_GUILD),
      await list(`?cursor=${cursor}&updated_since=1`),
      await list('?cursor=nonsense'),
      await list(`?cursor=${madeUp('nonsense')}`),
      await list(`?cursor=${madeUp(`1_${'9'.repeat(99)}`)}`),
    ]) {
      expect(response.status).toBe(400);
      expect(faultsOf(response)).toEqual(['query.cursor']);
    }
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['updated_since=-1', 'updated_since'],
    ['updated_since=2026-01-01', 'updated_since'],
  ])('rejects %s', async (query, field) => {
    const response = await list(`?${query}`);
    expect(response.status).toBe(400);
    expect(faultsOf(response)).toEqual([`query.${field}`]);
  });
});

describe('GET /guilds/:guildId/links/:chatId', () => {
  test('returns the link and the history, newest first', async () => {
    const { chatId, gameId } = newAccounts();
    const second = newAccounts().gameId;
    const times: number[] = [];
    const step = async (change: () => Promise<unknown>) => {
      await change();
      times.unshift(Math.floor((await fixture.databaseNow()) / 1000));
      await fixture.advance(60_000);
    };
    await step(() => fixture.link(chatId, gameId));
    await step(() => fixture.unlink({ chat_id: chatId }));
    await step(() => fixture.link(chatId, second));
    const response = await fixture.get(`/guilds/${GUILD}/links/${chatId}`);
    const change = (action: string, player: number, index: number) => ({
      action,
      chat_id: chatId,
      game_id: player,
      game_username: 'Player',
      // Shortly before the response.
      created_at: expect.toSatisfy((at: number) => at >= Number(times[index]) - 20 && at <= Number(times[index])),
    });
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
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

  test('an account that was never linked has no link and no history, and a malformed ID is a 400', async () => {
    const { chatId } = newAccounts();
    expect((await fixture.get(`/guilds/${GUILD}/links/${chatId}`)).body.data).toEqual({ link: null, history: [] });
    expect(faultsOf(await fixture.get(`/guilds/${GUILD}/links/7`))).toEqual(['path.chatId']);
  });
});
