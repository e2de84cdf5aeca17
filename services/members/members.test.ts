import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { encodeCursor } from '#kit/http/cursor.ts';
import { Platform } from '#platforms/fixture.ts';
import { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import { connect } from '#test/network/grpc.ts';
import { GUILD, MembersFixture, OTHER_GUILD } from './fixture.ts';

const ADA = '920000000000000001';
const NOBODY = '920000000000009999';
const BOT = '930000000000000001';
const OFFICER = '910000000000000001';
const VERIFIED = '910000000000000006';
const LIST = 'GET /api/v10/guilds/:guild/members';
/** A guild with 2,500 members; every tenth is an officer. */
const LARGE = '900000000000000003';
const largeId = (index: number) => String(940000000000000000n + BigInt(index));
const LINKED = [3, 700, 999, 1_000, 1_001, 2_499];

const fixture = new MembersFixture();
let chat: Platform;
let client: GrpcClient<typeof MembersServiceService>;
let close: () => void;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  ({ client, close } = connect(MembersServiceService, 'members', fixture.members.addresses.grpc ?? '', fixture.clock));
  await addLargeGuild();
  await fixture.link(ADA, 7001);
  for (const index of LINKED) await fixture.linkPastMembers(largeId(index), 10_000 + index, LARGE);
});
afterEach(() => {
  // All cached data expires.
  fixture.clock.advance(60_000);
  return chat.forget();
});
afterAll(() => {
  close();
  return fixture.stop();
});

async function addLargeGuild(): Promise<void> {
  const world = (await (await fetch(`${chat.url}/__world`)).json()) as { chat: { guilds: unknown[] } };
  const members = Array.from({ length: 2_500 }, (_, index) => ({
    id: largeId(index),
    username: `user${index}`,
    roles: index % 10 === 0 ? [OFFICER] : [],
  }));
  const roles = [{ id: OFFICER, name: 'Officer', position: 1 }];
  world.chat.guilds.push({ id: LARGE, name: 'Large', roles, members, bot: { id: BOT } });
  await chat.putWorld(world);
}

interface Page {
  members: { chat_id: string; game_id: number | null }[];
  next_cursor: string | null;
}

const list = (query = '', guildId = GUILD) => fixture.get(`/guilds/${guildId}/members${query}`, { guildId });

/** Reads all pages of a list of the large guild. */
async function walk(query: string): Promise<Page[]> {
  const pages: Page[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { data }: { data: Page } = (await list(`?${query}${cursor && `&cursor=${cursor}`}`, LARGE)).body;
    pages.push(data);
    cursor = data.next_cursor;
  }
  return pages;
}
const idsOf = (pages: Page[]) => pages.flatMap(({ members }) => members.map(({ chat_id }) => chat_id));
const largeIds = (fits: (index: number) => boolean = () => true) =>
  Array.from({ length: 2_500 }, (_, index) => index)
    .filter(fits)
    .map(largeId);

const ada = {
  chat_id: ADA,
  username: 'ada',
  nickname: null,
  roles: [OFFICER, VERIFIED],
  joined_at: 1_704_448_800,
  verified: true,
  game_id: 7001,
  game_username: 'Player',
};

describe('GET /guilds/:guildId/members', () => {
  test('lists all members in the order of their IDs, with links and without the bot', async () => {
    const response = await list();
    expect(response.status).toBe(200);
    const { members, next_cursor } = response.body.data;
    expect(members).toHaveLength(12);
    expect(members[0]).toEqual(ada);
    expect(members[1]).toEqual({
      ...ada,
      chat_id: '920000000000000002',
      username: 'bruno',
      nickname: 'Bruno at the helm',
      roles: ['910000000000000002', VERIFIED],
      joined_at: 1_704_565_800,
      verified: false,
      game_id: null,
      game_username: null,
    });
    expect(next_cursor).toBeNull();
    expect(members.map(({ chat_id }: { chat_id: string }) => chat_id)).not.toContain(BOT);
  });

  test('without a filter every page except the last is full, and the platform returns 1,000 members per call', async () => {
    const pages = await walk('limit=100');
    expect(pages.map(({ members }) => members.length)).toEqual(Array.from({ length: 25 }, () => 100));
    expect(idsOf(pages)).toEqual(largeIds());
    expect(await chat.calls()).toMatchObject({ [LIST]: 3 });
    expect(idsOf(await walk('limit=77'))).toEqual(largeIds());
  });

  test('a slow reader of all pages gets every member exactly once', async () => {
    const first = (await list('?limit=100', LARGE)).body.data;
    fixture.clock.advance(60_000);
    const second = (await list(`?limit=100&cursor=${first.next_cursor}`, LARGE)).body.data;
    expect(idsOf([first, second])).toEqual(largeIds((index) => index < 200));
  });

  test('filters by role and by link find members on all pages', async () => {
    const officers = await walk(`limit=30&role_id=${OFFICER}`);
    expect(idsOf(officers)).toEqual(largeIds((index) => index % 10 === 0));
    const verified = await walk('limit=2&verified=true');
    expect(idsOf(verified)).toEqual(LINKED.map(largeId));
    expect(verified.every(({ members }) => members.every(({ game_id }) => game_id !== null))).toBe(true);
    expect(idsOf(await walk('limit=100&verified=false'))).toEqual(largeIds((index) => !LINKED.includes(index)));
    const both = await walk(`verified=true&role_id=${OFFICER}`);
    expect(idsOf(both)).toEqual([700, 1_000].map(largeId));
    expect(idsOf(await walk(`role_id=${VERIFIED}`))).toEqual([]);
  });

  test('concurrent requests share a platform call', async () => {
    await Promise.all(Array.from({ length: 10 }, () => list()));
    expect(await chat.calls()).toMatchObject({ [LIST]: 1 });
  });

  test('all faults of the query are listed in one response, and a cursor of another list is rejected', async () => {
    const response = await list('?limit=0&role_id=7&verified=yes');
    expect(response.status).toBe(400);
    const paths = response.body.details.errors.map(({ path }: { path: string }) => path).sort();
    expect(paths).toEqual(['query.limit', 'query.role_id', 'query.verified']);
    const { next_cursor } = (await list('?limit=5')).body.data;
    expect((await list(`?limit=5&verified=true&cursor=${next_cursor}`)).status).toBe(400);
    const scope = { route: 'listMembers', guildId: GUILD, filters: { roleId: undefined, verified: undefined } };
    expect((await list(`?cursor=${encodeCursor(scope, 'made up')}`)).status).toBe(400);
  });

  test('a malformed cursor is listed together with all other faults', async () => {
    const response = await list('?limit=abc&cursor=zzz&role_id=x&verified=maybe');
    const faults = (response.body.details.errors as { path: string }[]).map(({ path }) => path);
    expect([response.status, faults.toSorted()]).toEqual([
      400,
      ['query.cursor', 'query.limit', 'query.role_id', 'query.verified'],
    ]);
  });

  test('responds with 502 for a guild without the bot, with advice, and for a failing platform', async () => {
    const outside = await list('', OTHER_GUILD);
    expect([outside.status, outside.body.details.code]).toEqual([502, 'PLATFORM_ERROR']);
    expect(outside.body.message).toMatch(/invite it/);
    await chat.fault('/members', { status: 500, times: 1 });
    expect((await list()).status).toBe(502);
    expect((await list()).status).toBe(200);
  });
});

describe('GET /guilds/:guildId/members/:chatId', () => {
  const get = (chatId: string) => fixture.get(`/guilds/${GUILD}/members/${chatId}`);

  test('reads the member without a cache', async () => {
    expect((await get(ADA)).body.data).toEqual(ada);
    await fetch(`${chat.url}/api/v10/guilds/${GUILD}/members/${ADA}`, {
      method: 'PATCH',
      headers: { authorization: 'Bot token', 'content-type': 'application/json' },
      body: JSON.stringify({ nick: 'Ada' }),
    });
    expect((await get(ADA)).body.data.nickname).toBe('Ada');
  });

  test.each([
    ['an account outside the guild', NOBODY],
    ['the bot', BOT],
  ])('%s is 404', async (_who, chatId) => {
    const response = await get(chatId);
    expect([response.status, response.body.details.code]).toEqual([404, 'NOT_FOUND']);
  });

  test('responds with 400 for a malformed ID', async () => {
    expect((await get('7')).status).toBe(400);
  });
});

describe('GET /guilds/:guildId/roles', () => {
  test('lists the roles, highest first, without @everyone, and says which are assignable', async () => {
    const { roles } = (await fixture.get(`/guilds/${GUILD}/roles`)).body.data;
    expect(roles).toHaveLength(9);
    expect(roles[0]).toEqual({
      id: '910000000000000010',
      name: 'Harbormaster',
      position: 9,
      color: 15844367,
      managed: false,
      assignable: false,
    });
    expect(roles.find(({ id }: { id: string }) => id === OFFICER)).toMatchObject({ name: 'Officer', assignable: true });
  });
});

describe('gRPC', () => {
  test('lists the roles of a guild and of a member, highest first', async () => {
    const { roles } = await client.listGuildRoles({ guildId: GUILD });
    expect(roles[4]).toEqual({ id: OFFICER, name: 'Officer', position: 5 });
    const { member } = await client.getMemberRoles({ guildId: GUILD, chatId: ADA });
    expect(member?.roles.map(({ name }) => name)).toEqual(['Officer', 'Verified']);
    const { member: grace } = await client.getMemberRoles({ guildId: GUILD, chatId: '920000000000000007' });
    expect(grace).toEqual({ roles: [] });
  });

  test("a role that was just created is among the member's roles, because the guild's roles are loaded again", async () => {
    await client.getMemberRoles({ guildId: GUILD, chatId: ADA });
    const world = (await (await fetch(`${chat.url}/__world`)).json()) as {
      chat: { guilds: { id: string; roles: object[]; members: { id: string; roles: string[] }[] }[] };
    };
    const guild = world.chat.guilds.find(({ id }) => id === GUILD);
    const id = '910000000000000077';
    guild?.roles.push({ id, name: 'Fresh', position: 4 });
    guild?.members.find((member) => member.id === ADA)?.roles.push(id);
    await chat.putWorld(world);
    await chat.forget();
    for (let call = 0; call < 3; call++) {
      const { member } = await client.getMemberRoles({ guildId: GUILD, chatId: ADA });
      expect(member?.roles.map(({ name }) => name)).toContain('Fresh');
    }
    expect(await chat.calls()).toMatchObject({ 'GET /api/v10/guilds/:guild/roles': 1 });
  });

  test('the response for an account outside the guild has no member', async () => {
    expect((await client.getMemberRoles({ guildId: GUILD, chatId: NOBODY })).member).toBeUndefined();
  });

  test('a guild without the bot and an invalid message are errors', async () => {
    await expect(client.listGuildRoles({ guildId: OTHER_GUILD })).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
    await expect(client.getMemberRoles({ guildId: GUILD, chatId: '7' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
  });
});
