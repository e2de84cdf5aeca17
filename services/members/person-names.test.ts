import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Platform } from '#platforms/fixture.ts';
import { GUILD, MembersFixture, OTHER_GUILD } from './fixture.ts';
import { chatIdOf, crew } from './fixtures/crew.ts';

const NOBODY = '929999999999999999';
const MARKUP = '<b>Ada</b> 🦈';
const PAGE = 'GET /api/v10/guilds/:guild/members';
const MEMBER = `${PAGE}/:user`;

const fixture = new MembersFixture();
let chat: Platform;
let game: Platform;
let replica: Awaited<ReturnType<MembersFixture['startMembers']>>;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  game = new Platform(fixture.simulators.game);
  const world = crew(200);
  Object.assign(world.chat.guilds[0]?.members[6] ?? {}, { username: MARKUP });
  await chat.putWorld(world);
  await game.putWorld(world);
  await fixture.query(
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     VALUES ($1, $2, 1, 'FormerName', 1, now(), now()), ($1, $3, 90001, 'Gone', 2, now(), now())`,
    [GUILD, chatIdOf(1), chatIdOf(2)],
  );
});
afterAll(() => fixture.stop());
// Every test starts with empty caches and closed breakers.
beforeEach(async () => {
  replica = await fixture.startMembers();
});
afterEach(async () => {
  await replica.stop();
  await Promise.all([chat.forget(), game.forget()]);
});

const resolve = (body: object, guildId = GUILD) =>
  fixture.post(`/guilds/${guildId}/names`, body, { guildId, at: replica });
const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

describe('POST /guilds/:guildId/names', () => {
  test('returns the names of both platforms by ID, and null for unknown IDs', async () => {
    const response = await resolve({ chat_ids: [chatIdOf(1), NOBODY], game_ids: [1, '2', 4_000_000] });
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Names resolved',
      data: {
        chat_names: { [chatIdOf(1)]: 'user1', [NOBODY]: null },
        game_names: { '1': 'User1', '2': 'User2', '4000000': null },
        incomplete: [],
      },
    });
  });

  test('names with markup and four-byte characters are returned unchanged', async () => {
    expect((await resolve({ chat_ids: [chatIdOf(7)] })).body.data.chat_names).toEqual({ [chatIdOf(7)]: MARKUP });
  });

  test('the name of a deleted game account is the one that was stored with its link', async () => {
    expect((await resolve({ game_ids: [90001] })).body.data.game_names).toEqual({ '90001': 'Gone' });
  });

  test('200 IDs take one call to each platform, and none when repeated', async () => {
    const body = { chat_ids: hundred.map(chatIdOf), game_ids: hundred };
    const first = await resolve(body);
    expect(Object.values(first.body.data.game_names)).toEqual(hundred.map((id) => `User${id}`));
    expect(first.body.data.chat_names[chatIdOf(100)]).toBe('user100');
    expect((await resolve(body)).body.data).toEqual(first.body.data);
    expect((await chat.calls())[PAGE]).toBe(1);
    expect((await chat.calls())[MEMBER] ?? 0).toBe(0);
    expect((await game.calls())['POST /v1/users']).toBe(1);
  });

  test('nothing to resolve is an empty response', async () => {
    for (const body of [{}, { chat_ids: [], game_ids: null }]) {
      expect((await resolve(body)).body.data).toEqual({ chat_names: {}, game_names: {}, incomplete: [] });
    }
  });

  test('stored names of another guild are not returned', async () => {
    expect((await resolve({ game_ids: [90001] }, OTHER_GUILD)).body.data.game_names).toEqual({ '90001': null });
  });

  test('reports all faults of the input together', async () => {
    const response = await resolve({ chat_ids: ['1', 5], game_ids: 'all' });
    const paths = response.body.details.errors.map(({ path }: { path: string }) => path);
    expect([response.status, paths]).toEqual([400, ['body.chat_ids[0]', 'body.chat_ids[1]', 'body.game_ids']]);
  });

  test('rejects more than 100 IDs of a kind', async () => {
    const response = await resolve({ game_ids: [...hundred, 101] });
    expect([response.status, response.body.details.errors]).toEqual([
      400,
      [{ path: 'body.game_ids', message: 'must hold at most 100 IDs' }],
    ]);
  });
});

describe('while a platform fails', () => {
  test('stored names replace those of the game platform, and the response is incomplete', async () => {
    await game.fault('/v1/users', { status: 500 });
    const { data } = (await resolve({ chat_ids: [chatIdOf(1)], game_ids: [1, 2] })).body;
    expect(data).toEqual({
      chat_names: { [chatIdOf(1)]: 'user1' },
      game_names: { '1': 'FormerName', '2': null },
      incomplete: ['game'],
    });
  });

  test('the names of members are null, and resolved after it has recovered', async () => {
    await chat.fault('/guilds', { status: 500, times: 1 });
    const body = { chat_ids: hundred.map(chatIdOf) };
    const { data } = (await resolve(body)).body;
    expect([data.incomplete, new Set(Object.values(data.chat_names))]).toEqual([['chat'], new Set([null])]);
    const again = (await resolve(body)).body.data;
    expect([again.incomplete, again.chat_names[chatIdOf(100)]]).toEqual([[], 'user100']);
  });

  test('a slow platform does not delay the names of the other one beyond the time of a request', async () => {
    await chat.fault('/guilds', { delay_ms: 20_000 });
    const { status, body } = await resolve({ chat_ids: [chatIdOf(1)], game_ids: [1] });
    expect([status, body.data.incomplete, body.data.game_names]).toEqual([200, ['chat'], { '1': 'User1' }]);
  });
});
