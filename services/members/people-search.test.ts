import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import demo from '#local/simulators/demo-world.json' with { type: 'json' };
import { Platform } from '#platforms/fixture.ts';
import { GUILD, MembersFixture, OTHER_GUILD } from './fixture.ts';

const ADA = '920000000000000001';
const FARID = '920000000000000006';
const MARKUP = '<img src=x onerror=alert(1)>';
const EMOJI = '🦈🦈 fin';

const fixture = new MembersFixture();
let chat: Platform;
let game: Platform;
let replica: Awaited<ReturnType<MembersFixture['startMembers']>>;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  game = new Platform(fixture.simulators.game);
  await fixture.query(
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     VALUES ($1, $2, 7001, 'AdaDigs', 1, now(), now()), ($1, '940000000000000001', 7008, 'HiroHauls', 2, now(), now())`,
    [GUILD, ADA],
  );
});
afterAll(() => fixture.stop());
// Every test starts with empty caches and closed breakers.
beforeEach(async () => {
  replica = await fixture.startMembers();
});
afterEach(async () => {
  await replica.stop();
  await Promise.all([chat.forget(), game.forget(), chat.putWorld(demo)]);
});

const search = (query: string, guildId = GUILD) =>
  fixture.get(`/guilds/${guildId}/people?query=${encodeURIComponent(query)}`, { guildId, at: replica });
const found = async (query: string) => (await search(query)).body.data.people as unknown[];
const ada = {
  chat_id: ADA,
  chat_username: 'ada',
  nickname: null,
  game_id: 7001,
  game_username: 'AdaDigs',
};

describe('GET /guilds/:guildId/people', () => {
  test('finds a member by chat ID, with the linked game account', async () => {
    const response = await search(ADA);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'People found',
      data: { people: [ada], incomplete: [] },
    });
  });

  test('finds a player by game ID, with the current name and the linked member', async () => {
    expect(await found('7001')).toEqual([{ ...ada, game_username: 'AdaBuilds' }]);
    expect(await found('7002')).toEqual([
      { chat_id: null, chat_username: null, nickname: null, game_id: 7002, game_username: 'BrunoSails' },
    ]);
  });

  test('finds a linked person who has left the guild, by either ID', async () => {
    const left = { chat_id: '940000000000000001', chat_username: null, nickname: null, game_id: 7008 };
    expect(await found('940000000000000001')).toEqual([{ ...left, game_username: 'HiroHauls' }]);
    expect(await found('7008')).toEqual([{ ...left, game_username: 'HiroHauls' }]);
  });

  test('finds members by the beginning of a username or nickname, in any case', async () => {
    expect(await found('FAR')).toMatchObject([{ chat_id: FARID, chat_username: 'farid', nickname: 'Farid' }]);
    expect(await found('Bruno at the')).toMatchObject([{ chat_username: 'bruno', game_id: null }]);
  });

  test('finds a player by a whole name in the game, and by a former name', async () => {
    expect(await found('dmitri_2026')).toMatchObject([{ chat_id: null, game_id: 7004, game_username: 'Dmitri_2026' }]);
    expect(await found('AdaDigs')).toEqual([{ ...ada, game_username: 'AdaBuilds' }]);
  });

  test('an account of each platform that are linked are one person', async () => {
    const rename = (members: SimulatedMember[]) => Object.assign(members[0] ?? {}, { username: 'AdaBuilds' });
    await chat.putWorld(worldWith(rename));
    expect(await found('AdaBuilds')).toMatchObject([{ chat_id: ADA, game_id: 7001 }]);
  });

  test('exact matches come first, and there are at most 25 people', async () => {
    const many = Array.from({ length: 40 }, (_, number) => ({
      id: `9200000000000001${number + 10}`,
      username: `sam${number}`,
    }));
    const world = worldWith((members) =>
      members.push(...many, { id: '929999999999999999', username: 'zoe', nick: 'Sam1' }),
    );
    await chat.putWorld(world);
    const people = (await found('sam')) as { chat_username: string }[];
    expect(people).toHaveLength(25);
    const exact = (await found('sam1')) as { chat_username: string }[];
    expect(exact.slice(0, 2).map(({ chat_username }) => chat_username)).toEqual(['sam1', 'zoe']);
  });

  test('names with markup and with four-byte characters are found and returned unchanged', async () => {
    const named = (members: SimulatedMember[]) =>
      members.push(
        { id: '920000000000000201', username: 'markup', nick: MARKUP },
        { id: '920000000000000202', username: 'shark', nick: EMOJI },
      );
    await chat.putWorld(worldWith(named));
    expect(await found('<img src=x')).toMatchObject([{ nickname: MARKUP }]);
    expect(await found('🦈')).toMatchObject([{ nickname: EMOJI }]);
  });

  test('nobody found is an empty list', async () => {
    for (const query of ['nobody-has-this-name', '1', '929999999999999998', '99999999999999999999999']) {
      expect((await search(query)).body.data).toEqual({ people: [], incomplete: [] });
    }
  });

  test('links of another guild are not used', async () => {
    const response = await search('7001', OTHER_GUILD);
    expect(response.body.data.people).toMatchObject([{ chat_id: null, game_id: 7001 }]);
  });

  test.each([
    ['', 'must have 1 to 100 characters'],
    ['   ', 'must not be blank'],
    ['x'.repeat(101), 'must have 1 to 100 characters'],
    ['a\u0000b', 'must not hold control characters or broken Unicode'],
  ])('rejects the query %j', async (query, message) => {
    const response = await search(query);
    expect(response.status).toBe(400);
    expect(response.body.details).toEqual({ code: 'INVALID_REQUEST', errors: [{ path: 'query.query', message }] });
  });

  test('a missing query is a 400', async () => {
    const response = await fixture.get(`/guilds/${GUILD}/people`, { at: replica });
    expect([response.status, response.body.details.errors[0].path]).toEqual([400, 'query.query']);
  });
});

describe('while a platform fails', () => {
  test('the results of the other platform are returned as incomplete', async () => {
    await chat.fault('/guilds', { status: 500 });
    const response = await search('AdaBuilds');
    expect([response.status, response.body.data.incomplete]).toEqual([200, ['chat']]);
    expect(response.body.data.people).toEqual([{ ...ada, chat_username: null, game_username: 'AdaBuilds' }]);
    await chat.forget();
    await game.fault('/v1/', { status: 500 });
    const again = await search('ada');
    expect(again.body.data).toEqual({ people: [ada], incomplete: ['game'] });
  });

  test('a linked person is found by ID without the platforms', async () => {
    await Promise.all([chat.fault('/guilds', { status: 500 }), game.fault('/v1/', { status: 500 })]);
    const person = { ...ada, chat_username: null };
    expect((await search(ADA)).body.data).toEqual({ people: [person], incomplete: ['chat'] });
    expect((await search('7001')).body.data).toEqual({ people: [person], incomplete: ['chat', 'game'] });
  });

  test('its error is returned if nobody was found', async () => {
    await chat.fault('/guilds', { status: 500 });
    const response = await search('nobody-has-this-name');
    expect([response.status, response.body.details.code]).toEqual([502, 'PLATFORM_ERROR']);
  });

  test('a platform that does not respond is a TIMEOUT within the time of a request', async () => {
    await chat.fault('/members/search', { delay_ms: 20_000 });
    const started = performance.now();
    const response = await search('nobody-has-this-name');
    expect([response.status, response.body.details.code]).toEqual([504, 'TIMEOUT']);
    expect(performance.now() - started).toBeLessThan(8_000);
  });

  test('a search after the failure is complete again', async () => {
    await chat.fault('/guilds', { status: 500, times: 1 });
    expect((await search('AdaBuilds')).body.data.incomplete).toEqual(['chat']);
    expect((await search('AdaBuilds')).body.data).toEqual({
      people: [{ ...ada, game_username: 'AdaBuilds' }],
      incomplete: [],
    });
  });
});

type DemoWorld = typeof demo;

/** Returns the data of the simulators after a change. */
function worldWith(change: (members: SimulatedMember[]) => void): DemoWorld {
  const world = structuredClone(demo);
  change(world.chat.guilds[0]?.members as SimulatedMember[]);
  return world;
}

interface SimulatedMember {
  id: string;
  username: string;
  nick?: string;
}
