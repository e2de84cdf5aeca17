// Guarantees: an invite can be accepted only by the linked chat account, once, and gives the roles of the bindings that the bot
// can assign; roles that it gave are taken back like all others.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { Platform } from '#platforms/fixture.ts';
import { PATIENCE } from '#test/patience.ts';
import { GUILD, MembersFixture, OTHER_GUILD } from './fixture.ts';

// Nora is a person of the demo world, but in no guild. 7001 has rank 50 in group 501.
const NORA = '920000000000000020';
const ADA = '920000000000000001';
const OTHER = '920000000000000031';
const DECKHAND = '910000000000000003';
const HARBORMASTER = '910000000000000010';
const BOT_ROLE = '910000000000000009';
const PATH = '/verification/invite';

const fixture = new MembersFixture();
let chat: Platform;
let chatWorld: World;

interface World {
  chat: { guilds: { id: string; roles: { id: string; permissions?: string }[] }[] };
}

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  chatWorld = (await (await fetch(`${chat.url}/__world`)).json()) as World;
});
beforeEach(async () => {
  await fixture.bindRank(DECKHAND, { min: 50 });
  await fixture.patch(`/guilds/${GUILD}/settings`, { invite_channel_id: GUILD });
  await fixture.link(NORA, 7001);
  await untilIdle();
  await chat.forget();
});
afterEach(async () => {
  await chat.forget();
  await chat.putWorld(chatWorld);
  for (const chatId of [NORA, ADA]) await fixture.unlink({ chat_id: chatId });
  await untilIdle();
  await fixture.advance(61_000);
  for (const table of ['role_invites', 'guild_settings', 'grants', 'idempotency', 'events', 'event_counters']) {
    await fixture.query(`DELETE FROM members.${table}`);
  }
  await fixture.query('DELETE FROM bindings.bindings');
});
afterAll(() => fixture.stop());

const invite = (fields: object = { chat_id: NORA }, request: object = {}) =>
  fixture.post(PATH, { guild_id: GUILD, ...fields }, request);
const untilIdle = () =>
  vi.waitUntil(async () => (await fixture.query('SELECT 1 FROM members.role_tasks')).length === 0, PATIENCE);
const codeOf = (url: string) => url.replace('https://discord.gg/', '');
const grants = async () => (await fixture.query('SELECT role_id FROM members.grants')).map((row) => row['role_id']);
const created = async () => (await chat.calls())['POST /api/v10/channels/:channel/invites'] ?? 0;

async function accept(url: string, user: string): Promise<number> {
  const body = JSON.stringify({ code: codeOf(url), user });
  return (await fetch(`${chat.url}/__invites`, { method: 'POST', body })).status;
}
async function control(path: string, body: object): Promise<void> {
  const response = await fetch(chat.url + path, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
}
async function rolesOf(user: string): Promise<string[] | undefined> {
  const headers = { authorization: 'Bot token' };
  const response = await fetch(`${chat.url}/api/v10/guilds/${GUILD}/members/${user}`, { headers });
  return ((await response.json()) as { roles?: string[] }).roles;
}

test('only the linked account can accept it, and gets the roles that the bindings give and the bot can assign', async () => {
  await fixture.bindRank(HARBORMASTER, { min: 1 });
  const { status, body } = await invite({ game_id: 7001 });
  const { url, expires_at } = body.data;
  expect([status, body.data]).toEqual([
    201,
    { chat_id: NORA, url: expect.any(String), role_ids: [DECKHAND], expires_at: expect.any(Number) },
  ]);
  expect(url).toMatch(/^https:\/\/discord\.gg\/[\w-]+$/);
  expect(Math.abs(expires_at * 1000 - Date.now() - 3_600_000)).toBeLessThan(60_000);
  expect([await accept(url, OTHER), await accept(url, NORA)]).toEqual([400, 204]);
  expect(await rolesOf(NORA)).toEqual([DECKHAND]);
  await control('/__members', { guild: GUILD, user: NORA, action: 'leave' });
  expect(await accept(url, NORA)).toBe(400);
});

test('roles that an invite gave are taken back after an unlink, also if a sync before the join found nobody', async () => {
  const { url } = (await invite()).body.data;
  expect((await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: NORA })).status).toBe(404);
  expect(await grants()).toEqual([DECKHAND]);
  await accept(url, NORA);
  await fixture.unlink({ chat_id: NORA });
  await vi.waitUntil(async () => (await rolesOf(NORA))?.length === 0, PATIENCE);
});

test('when the last invite has expired, a sync that finds nobody forgets its roles', async () => {
  await invite();
  await fixture.query(`UPDATE members.role_invites SET kept_until = clock_timestamp()`);
  await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: NORA });
  expect(await grants()).toEqual([]);
});

test('a member needs no invite', async () => {
  await fixture.link(ADA, 7002);
  await untilIdle();
  const { status, body } = await invite({ chat_id: ADA });
  expect([status, body.data, await created()]).toEqual([
    201,
    { chat_id: ADA, url: null, role_ids: [], expires_at: null },
    0,
  ]);
});

test('requests within a minute, also at the same time, get one invite; later ones and other roles a new one', async () => {
  const urls = await Promise.all([invite(), invite(), invite({ game_id: 7001 })]);
  const [first] = urls.map(({ body }) => body.data.url);
  expect([new Set(urls.map(({ body }) => body.data.url)).size, await created()]).toEqual([1, 1]);
  await fixture.query('UPDATE members.role_invites SET created_at = $1', [new Date(Date.now() - 61_000)]);
  const second = (await invite()).body.data.url;
  await fixture.bindRank('910000000000000004', { min: 1 });
  const third = (await invite()).body.data.url;
  expect(new Set([first, second, third]).size).toBe(3);
});

test('a request with the same Idempotency-Key gets the same invite, and is in the audit once', async () => {
  const first = await invite({ chat_id: NORA }, { key: 'once' });
  expect((await invite({ chat_id: NORA }, { key: 'once' })).body).toEqual(first.body);
  const { role_ids, expires_at } = first.body.data;
  const audited = await fixture.query(`SELECT data FROM members.events WHERE type = 'invite.created'`);
  expect(audited).toEqual([{ data: { chat_id: NORA, role_ids, expires_at } }]);
});

test('without the setting, a link or a channel of the guild there is no invite', async () => {
  const statusOf = async (fields?: object) => {
    const { status, body } = await invite(fields);
    return [status, body.details.code];
  };
  expect(await statusOf({ chat_id: OTHER })).toEqual([404, 'NOT_FOUND']);
  const set = (invite_channel_id: string | null) => fixture.patch(`/guilds/${GUILD}/settings`, { invite_channel_id });
  // A channel of another guild, in which the bot is too, and one that does not exist.
  for (const channel of [OTHER_GUILD, '900000000000000099']) {
    await set(channel);
    expect(await statusOf()).toEqual([422, 'NOT_APPLICABLE']);
  }
  await set(null);
  expect(await statusOf()).toEqual([422, 'NOT_APPLICABLE']);
  expect(await created()).toBe(0);
});

test('a bot without the permission gets one rejection a minute, and the response says what to do', async () => {
  const world = structuredClone(chatWorld);
  for (const role of world.chat.guilds.find(({ id }) => id === GUILD)?.roles ?? []) {
    if (role.id === BOT_ROLE) role.permissions = String(1n << 28n);
  }
  await chat.putWorld(world);
  for (let request = 0; request < 3; request++) {
    const { status, body } = await invite();
    expect([status, body.message]).toEqual([422, expect.stringContaining('Create Invite')]);
  }
  expect(await created()).toBe(1);
});

test.each([
  [{ status: 503 }, 502],
  [{ status: 400, body: { code: 30016, message: 'Maximum number of invites reached (1000)' } }, 422],
  [{ status: 429, retry_after: 30 }, 503],
  [{ status: 404, body: { code: 10003, message: 'Unknown Channel' } }, 422],
  [{ broken: true }, 502],
  [{ body: { code: '../evil' } }, 502],
])('the fault %j of the platform is %i, and the roles stay stored', async (fault, expected) => {
  await chat.fault('/invites', fault);
  expect((await invite()).status).toBe(expected);
  expect(await grants()).toEqual([DECKHAND]);
});

test.each([{}, { chat_id: NORA, game_id: 7001 }, { chat_id: 'nora' }, { game_id: 0 }])(
  'the body %j is rejected',
  async (fields) => {
    expect([(await invite(fields)).status, await created()]).toEqual([400, 0]);
  },
);

test('with the websocket, whoever accepts an invite also gets the nickname, although joins are not synced', async () => {
  const members: RunningService = await fixture.startMembers({ CHAT_GATEWAY_ENABLED: 'true' });
  await fixture.useMirroredGuild();
  await fixture.patch(`/guilds/${GUILD}/settings`, { nickname_template: '{game_username}' });
  const { url } = (await invite()).body.data;
  await accept(url, NORA);
  const headers = { authorization: 'Bot token' };
  const nickname = async () => {
    const response = await fetch(`${chat.url}/api/v10/guilds/${GUILD}/members/${NORA}`, { headers });
    return ((await response.json()) as { nick: string | null }).nick;
  };
  await vi.waitFor(async () => expect(await nickname()).toBe('Player'), PATIENCE);
  await members.stop();
});
