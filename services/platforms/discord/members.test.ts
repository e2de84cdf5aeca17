import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deadlineFor, PlatformsFixture } from '../fixture.ts';
import type { Discord } from './discord.ts';

const GUILD = '900000000000000001';
const BOT = '930000000000000001';
const ADA = '920000000000000001';
const LENA = '920000000000000012';
const NOBODY = '920000000000000099';
const OFFICER = '910000000000000001';
const CAPTAIN = '910000000000000002';
const HARBORMASTER = '910000000000000010';
const MEMBER = 'GET /api/v10/guilds/:guild/members/:user';
const LIST = 'GET /api/v10/guilds/:guild/members';
const GIVE = 'PUT /api/v10/guilds/:guild/members/:user/roles/:role';

let fixture: PlatformsFixture;
let discord: Discord;

beforeEach(async () => {
  fixture = await PlatformsFixture.start();
  discord = fixture.discord();
});
afterEach(() => fixture.stop());

const forbidden = (code: number) => ({ status: 403, body: { code, message: 'Missing' } });
const role = (roleId: string, options: { chatId?: string; give?: boolean } = {}) =>
  discord.changeRole({ guildId: GUILD, chatId: ADA, give: true, reason: 'Rank 50 – Harbor', roleId, ...options });
const nickname = (nickname: string | null, chatId = ADA) =>
  discord.changeNickname({ guildId: GUILD, chatId, nickname, reason: 'Named after the game' });

async function audit(): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${fixture.chat.url}/__audit`);
  return ((await response.json()) as { entries: Record<string, unknown>[] }).entries;
}

describe('one member', () => {
  test('is never cached', async () => {
    expect(await discord.member(GUILD, ADA)).toEqual({
      chatId: ADA,
      username: 'ada',
      nickname: null,
      roles: [OFFICER, '910000000000000006'],
      joinedAt: 1_704_448_800,
      timeoutUntil: null,
    });
    await role(CAPTAIN);
    expect((await discord.member(GUILD, ADA))?.roles).toContain(CAPTAIN);
    expect((await fixture.chat.calls())[MEMBER]).toBe(2);
  });

  test('is null if not in the guild, and for the bot, which is not requested', async () => {
    expect(await discord.member(GUILD, NOBODY)).toBeNull();
    expect(await discord.member(GUILD, BOT)).toBeNull();
    expect((await fixture.chat.calls())[MEMBER]).toBe(1);
  });

  test('in a guild that the bot may not read is requested once a minute', async () => {
    await fixture.chat.fault('/guilds', forbidden(50001));
    for (const chatId of [ADA, LENA, ADA]) {
      await expect(discord.member(GUILD, chatId)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
    }
    expect((await fixture.chat.calls())[MEMBER]).toBe(1);
    await fixture.chat.forget();
    fixture.clock.advance(60_000);
    expect(await discord.member(GUILD, ADA)).not.toBeNull();
  });
});

describe('all members', () => {
  const many = (count: number) => ({
    chat: {
      guilds: [
        {
          id: GUILD,
          name: 'Harbor',
          members: Array.from({ length: count }, (_, index) => ({
            id: String(920000000000000001n + BigInt(index)),
            username: `user${index}`,
          })),
          bot: { id: '920000000000000000' },
        },
      ],
    },
  });

  test('are listed in pages of 1,000 in the order of their IDs, without the bot', async () => {
    await fixture.chat.putWorld(many(1_500));
    const first = await discord.members(GUILD, '0');
    expect([first.members.length, first.next]).toEqual([999, '920000000000000999']);
    expect(first.members[0]?.username).toBe('user0');
    const second = await discord.members(GUILD, first.next ?? '');
    expect([second.members.length, second.next]).toEqual([501, null]);
    expect(second.members[0]?.username).toBe('user999');
    expect((await fixture.chat.calls())[LIST]).toBe(2);
  });

  test('are requested once in ten seconds, also by concurrent callers', async () => {
    await Promise.all([discord.members(GUILD, '0'), discord.members(GUILD, '0')]);
    fixture.clock.advance(9_999);
    await discord.members(GUILD, '0');
    expect((await fixture.chat.calls())[LIST]).toBe(1);
    fixture.clock.advance(1);
    await discord.members(GUILD, '0');
    expect((await fixture.chat.calls())[LIST]).toBe(2);
  });

  test('are read from a page above 1 MiB, with many roles each', async () => {
    const world = many(1_000);
    const roles = Array.from({ length: 80 }, (_, index) => ({
      id: String(910000000000000001n + BigInt(index)),
      name: 'Role',
      position: 1,
    }));
    const [guild] = world.chat.guilds;
    const full = guild?.members.map((member) => ({ ...member, roles: roles.map(({ id }) => id) }));
    await fixture.chat.putWorld({ chat: { guilds: [{ ...guild, roles, members: full }] } });
    const { members } = await fixture.discord().members(GUILD, '0');
    expect([members.length, members[0]?.roles.length]).toEqual([999, 80]);
  });

  test('are a PLATFORM_ERROR that names the missing intent, requested once a minute', async () => {
    await fixture.chat.fault('/members', forbidden(50001));
    const error = { code: 'PLATFORM_ERROR', message: expect.stringMatching(/intent GUILD_MEMBERS/) as string };
    await expect(discord.members(GUILD, '0')).rejects.toMatchObject(error);
    await expect(discord.members(GUILD, '0')).rejects.toMatchObject(error);
    expect((await fixture.chat.calls())[LIST]).toBe(1);
  });
});

describe('changes of a member', () => {
  test('a role is assigned and removed, each with its reason in the audit log', async () => {
    expect(await role(CAPTAIN)).toBe('done');
    expect(await role(CAPTAIN, { give: false })).toBe('done');
    expect(await audit()).toMatchObject([
      { user_id: ADA, changes: { $add: CAPTAIN }, changed: true, reason: 'Rank 50 – Harbor' },
      { user_id: ADA, changes: { $remove: CAPTAIN }, changed: true, reason: 'Rank 50 – Harbor' },
    ]);
  });

  test('a nickname is set and removed', async () => {
    expect(await nickname('Ada ⚓')).toBe('done');
    expect((await discord.member(GUILD, ADA))?.nickname).toBe('Ada ⚓');
    expect(await nickname(null)).toBe('done');
    expect((await discord.member(GUILD, ADA))?.nickname).toBeNull();
    expect(await audit()).toHaveLength(2);
  });

  test('rejections are distinguished: no such member, no such role, not permitted', async () => {
    expect(await role(CAPTAIN, { chatId: NOBODY })).toBe('no such member');
    expect(await role('910000000000000099')).toBe('no such role');
    expect(await role(HARBORMASTER)).toBe('not permitted');
    expect(await nickname('Ada', NOBODY)).toBe('no such member');
    expect(await nickname('The owner', LENA)).toBe('not permitted');
    expect(await audit()).toEqual([]);
  });

  test.each([[undefined], [0], [60003]])('403 with the code %s is not permitted, and not retried', async (code) => {
    await fixture.chat.fault('/roles/', { status: 403, body: { ...(code !== undefined && { code }), message: 'No' } });
    expect([await role(CAPTAIN), await role(CAPTAIN, { chatId: LENA })]).toEqual(['not permitted', 'not permitted']);
    expect((await fixture.chat.calls())[GIVE]).toBe(1);
  });

  test('the owner and the right to manage nicknames are requested once a minute', async () => {
    const world = (role: string) => ({
      chat: {
        guilds: [
          {
            id: GUILD,
            name: 'Harbor',
            owner_id: ADA,
            roles: [{ id: CAPTAIN, name: 'Bot', position: 1, permissions: role }],
            members: [{ id: ADA, username: 'ada' }],
            bot: { id: BOT, roles: [CAPTAIN] },
          },
        ],
      },
    });
    const permissions = { 'manage nicknames': 1n << 27n, administrator: 1n << 3n, 'manage roles': 1n << 28n };
    const results: boolean[] = [];
    const rolesResults: boolean[] = [];
    for (const bits of Object.values(permissions)) {
      await fixture.chat.putWorld(world(String(bits)));
      fixture.clock.advance(60_000);
      const standing = await discord.standing(GUILD);
      expect([standing.ownerId, await discord.standing(GUILD)]).toEqual([ADA, standing]);
      results.push(standing.managesNicknames);
      rolesResults.push(standing.managesRoles);
    }
    expect(results).toEqual([true, true, false]);
    expect(rolesResults).toEqual([false, true, true]);
    expect((await fixture.chat.calls())['GET /api/v10/guilds/:guild']).toBe(3);
    // A caller may ask for a fresh result.
    await discord.standing(GUILD, { fresh: true });
    expect((await fixture.chat.calls())['GET /api/v10/guilds/:guild']).toBe(4);
  });

  test('a role that was not permitted is not tried again for a minute for any member, but other roles are', async () => {
    await role(HARBORMASTER);
    expect(await role(HARBORMASTER, { chatId: LENA })).toBe('not permitted');
    expect(await role(CAPTAIN)).toBe('done');
    expect((await fixture.chat.calls())[GIVE]).toBe(2);
    fixture.clock.advance(60_000);
    expect(await role(HARBORMASTER)).toBe('not permitted');
    expect((await fixture.chat.calls())[GIVE]).toBe(3);
  });

  test.each([
    ['500', { status: 500 }, 'PLATFORM_ERROR'],
    ['400 with an unknown code', { status: 400 }, 'PLATFORM_ERROR'],
    ['404 without a code', { status: 404 }, 'PLATFORM_ERROR'],
    ['an unknown guild', { status: 404, body: { code: 10004, message: 'Unknown' } }, 'PLATFORM_ERROR'],
    ['a reset connection', { reset: true }, 'PLATFORM_ERROR'],
    ['429', { status: 429, retry_after: 5 }, 'UNAVAILABLE'],
    ['no response in time', { delay_ms: 10_000 }, 'TIMEOUT'],
  ])('%s is an error, and the call is not retried', async (_what, fault, code) => {
    fixture.deadlineMs = deadlineFor(fault);
    discord = fixture.discord();
    await fixture.chat.fault('/roles/', { ...fault, times: 1 });
    await expect(role(CAPTAIN)).rejects.toMatchObject({ code });
    expect((await fixture.chat.calls())[GIVE]).toBe(1);
  });

  test('once the token is rejected, no change is attempted', async () => {
    await fixture.chat.fault('/roles/', { status: 401 });
    await expect(role(CAPTAIN)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 60 });
    await expect(nickname('Ada')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await fixture.chat.calls()).toEqual({ [GIVE]: 1 });
  });
});

describe('a search of members', () => {
  test('finds members by the beginning of a name, without the bot', async () => {
    const found = await discord.search(GUILD, 'LENA', 25);
    expect(found.map(({ chatId, nickname }) => [chatId, nickname])).toEqual([[LENA, 'Lena (owner)']]);
    expect(await discord.search(GUILD, 'guild-data', 25)).toEqual([]);
    expect(await discord.search(GUILD, 'a&limit=0#', 25)).toEqual([]);
  });

  test('returns at most as many members as wanted, and makes one call', async () => {
    const letters = await Promise.all(['a', 'b'].map((letter) => discord.search(GUILD, letter, 1)));
    expect(letters.map((members) => members.length)).toEqual([1, 1]);
    expect((await fixture.chat.calls())['GET /api/v10/guilds/:guild/members/search']).toBe(2);
  });

  test('of a guild that the bot may not read is a PLATFORM_ERROR, once a minute', async () => {
    await fixture.chat.fault('/search', forbidden(50001));
    for (const text of ['a', 'b']) {
      await expect(discord.search(GUILD, text, 25)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
    }
    expect((await fixture.chat.calls())['GET /api/v10/guilds/:guild/members/search']).toBe(1);
  });
});
