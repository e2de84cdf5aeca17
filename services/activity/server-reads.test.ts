import { afterAll, beforeAll, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { encodeCursor } from '#kit/http/cursor.ts';
import { ActivityFixture, newGuild, PLACE } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const now = () => unixSeconds(fixture.clock.now());
const list = (guildId: string, query = '') => fixture.get(`/guilds/${guildId}/servers${query}`, { guildId });
const read = (guildId: string, server: string) => fixture.get(`/guilds/${guildId}/servers/${server}`, { guildId });
const find = (guildId: string, player: number | string) =>
  fixture.get(`/guilds/${guildId}/players/${player}/server`, { guildId });
const idsOf = ({ body }: { body: { data: { servers: { server_id: string }[] } } }) =>
  body.data.servers.map(({ server_id: id }) => id);
const players = (...ids: number[]) => ({ players: ids.map((id) => ({ game_id: id, username: `P${id}` })) });
const serverOf = async (guildId: string, player: number) =>
  (await find(guildId, player)).body.data.server?.server_id ?? null;

test('live servers are listed as their last heartbeats described them', async () => {
  const guildId = newGuild();
  const described = { universe_id: 30001, fps: 59.9, age_seconds: 60, plugin_version: '2.4.0', ...players(7001) };
  await fixture.beat('b', described, { guildId });
  await fixture.beat('a', { place_id: 40002, player_count: 0 }, { guildId });
  await fixture.beat('ended', {}, { guildId });
  await fixture.beat('ended', { final: true }, { guildId });
  await fixture.beat('c', {}, { guildId: newGuild() });
  const shared = { max_players: 30, heartbeat_at: now(), live_until: now() + 45 };
  const a = { server_id: 'a', place_id: 40002, universe_id: null, player_count: 0, fps: null };
  const b = { server_id: 'b', place_id: PLACE, universe_id: 30001, player_count: 1, fps: 59.9 };
  expect((await list(guildId)).body).toEqual({
    status: 'success',
    code: 200,
    message: 'Servers listed',
    data: {
      servers: [
        { ...a, ...shared, plugin_version: null, started_at: null },
        { ...b, ...shared, plugin_version: '2.4.0', started_at: now() - 60 },
      ],
      next_cursor: null,
    },
  });
  expect(idsOf(await list(guildId, `?place_id=${PLACE}`))).toEqual(['b']);
  expect((await read(guildId, 'b')).body).toEqual({
    status: 'success',
    code: 200,
    message: 'Server read',
    data: {
      ...b,
      ...shared,
      plugin_version: '2.4.0',
      started_at: now() - 60,
      players: [{ game_id: 7001, username: 'P7001' }],
    },
  });
  expect((await read(guildId, 'a')).body.data.players).toBeNull();
  await fixture.advance(45_000);
  expect(idsOf(await list(guildId))).toEqual([]);
});

test('pages contain each server once, also if servers start and end in between', async () => {
  const guildId = newGuild();
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  for (const name of names) await fixture.beat(name, {}, { guildId });
  const first = await list(guildId, '?limit=3');
  await fixture.beat('b', { final: true }, { guildId });
  await fixture.beat('aa', {}, { guildId });
  await fixture.beat('dd', {}, { guildId });
  const second = await list(guildId, `?limit=3&cursor=${first.body.data.next_cursor}`);
  const third = await list(guildId, `?limit=3&cursor=${second.body.data.next_cursor}`);
  expect([first, second, third].map(idsOf)).toEqual([
    ['a', 'b', 'c'],
    ['d', 'dd', 'e'],
    ['f', 'g'],
  ]);
  expect(third.body.data.next_cursor).toBeNull();
});

test('a cursor of another list and a made-up one are rejected', async () => {
  const guildId = newGuild();
  for (const name of ['a', 'b']) await fixture.beat(name, {}, { guildId });
  const { next_cursor: cursor } = (await list(guildId, '?limit=1')).body.data;
  const madeUp = encodeCursor({ route: 'servers', guildId, filters: {} }, 'a\u0000');
  const fault = { path: 'query.cursor', message: 'is not a next_cursor of this list with these filters' };
  for (const [guild, query] of [
    [newGuild(), `?cursor=${cursor}`],
    [guildId, `?cursor=${cursor}&place_id=${PLACE}`],
    [guildId, `?cursor=${madeUp}`],
    [guildId, '?cursor=x'],
  ] as const) {
    const { status, body } = await list(guild, query);
    expect([status, body.details.errors]).toEqual([400, [fault]]);
  }
});

test('every fault of a request is listed', async () => {
  const guildId = newGuild();
  const faultsOf = (response: { body: { details: { errors: { path: string }[] } } }) =>
    response.body.details.errors.map(({ path }) => path);
  expect(faultsOf(await list(guildId, '?limit=0&place_id=x'))).toEqual(['query.limit', 'query.place_id']);
  expect(faultsOf(await read(guildId, 'a%20b'))).toEqual(['path.serverId']);
  expect(faultsOf(await find(guildId, '0'))).toEqual(['path.gameId']);
});

test('a server that is unknown, has ended or belongs to another guild is not found', async () => {
  const guildId = newGuild();
  await fixture.beat('ended', {}, { guildId });
  await fixture.beat('ended', { final: true }, { guildId });
  await fixture.beat('other', {}, { guildId: newGuild() });
  for (const name of ['unknown', 'ended', 'other']) {
    const { status, body } = await read(guildId, name);
    expect([status, body.details.code]).toEqual([404, 'NOT_FOUND']);
  }
});

test("a player's server is the live one that reported the player last", async () => {
  const guildId = newGuild();
  await fixture.beat('a', players(7001, 7002), { guildId });
  await fixture.beat('b', players(70010, 7003), { guildId });
  await fixture.beat('x', players(7005), { guildId: newGuild() });
  const { body } = await find(guildId, 7001);
  expect(body).toMatchObject({ code: 200, message: "Player's server read", data: { server: { server_id: 'a' } } });
  expect(Object.keys(body.data.server)).not.toContain('players');
  expect(await Promise.all([70010, 700, 7005].map((id) => serverOf(guildId, id)))).toEqual(['b', null, null]);

  await fixture.advance(1_000);
  await fixture.beat('b', players(7001), { guildId });
  expect(await serverOf(guildId, 7001)).toBe('b');
  await fixture.advance(1_000);
  await fixture.beat('a', players(7002), { guildId });
  expect(await serverOf(guildId, 7001)).toBe('b');
  await fixture.beat('b', { ...players(7001), final: true }, { guildId });
  expect(await serverOf(guildId, 7001)).toBeNull();
  await fixture.advance(45_000);
  expect(await serverOf(guildId, 7002)).toBeNull();
});

test('a username that looks like another player is not mistaken for that player', async () => {
  const guildId = newGuild();
  await fixture.beat('a', { players: [{ game_id: 7001, username: '"game_id":7002,' }] }, { guildId });
  expect(await serverOf(guildId, 7002)).toBeNull();
  expect(await serverOf(guildId, 7001)).toBe('a');
});

test('players whose usernames contain any Unicode characters are found', async () => {
  const guildId = newGuild();
  await fixture.beat('a', { players: [{ game_id: 7001, username: 'ü😀"\\' }, { game_id: 7002 }] }, { guildId });
  expect(await serverOf(guildId, 7002)).toBe('a');
  expect((await read(guildId, 'a')).body.data.players).toEqual([
    { game_id: 7001, username: 'ü😀"\\' },
    { game_id: 7002, username: null },
  ]);
});
