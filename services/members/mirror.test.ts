// Guarantees of the mirror: what the websocket reports takes no call; nothing is missed across lost connections
// and processes; after a gap nothing old is used for changes.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { RunningService } from '#kit/service/service.ts';
import { Platform } from '#platforms/fixture.ts';
import { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import { connect } from '#test/network/grpc.ts';
import { PATIENCE } from '#test/patience.ts';
import { GUILD, MembersFixture } from './fixture.ts';

const ADA = '920000000000000001';
const OFFICER = '910000000000000001';
const VERIFIED = '910000000000000006';
const FED = { CHAT_GATEWAY_ENABLED: 'true' };

const fixture = new MembersFixture();
let chat: Platform;
let members: RunningService;
let client: GrpcClient<typeof MembersServiceService>;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  members = await fixture.startMembers(FED);
  const { client: connected, close } = connect(
    MembersServiceService,
    'members',
    members.addresses.grpc ?? '',
    fixture.clock,
  );
  client = connected;
  closing.push(close);
  await vi.waitUntil(() => fixture.isMirrorLive(), PATIENCE);
  // Uses the guild, so that its members are mirrored.
  await rolesOf(ADA);
});
afterAll(async () => {
  for (const close of closing) close();
  await members.stop();
  await fixture.stop();
});

const control = async (path: string, body: object) => {
  const response = await fetch(chat.url + path, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
};
const change = (action: 'join' | 'leave' | 'update', user: string, fields: object = {}) =>
  control('/__members', { guild: GUILD, user, action, ...fields });
const epoch = async () => (await fixture.query('SELECT epoch FROM members.chat_shards'))[0]?.['epoch'];
const rolesOf = async (chatId: string) =>
  (await client.getMemberRoles({ guildId: GUILD, chatId })).member?.roles.map(({ id }) => id);
const totalCalls = async () => Object.values(await chat.calls()).reduce((sum, calls) => sum + calls, 0);
/** Returns the roles that the mirror has of a member, without reading the platform; undefined if it has no row. */
const mirrored = async (chatId: string) =>
  (
    await fixture.query(
      'SELECT roles FROM members.mirror_members WHERE guild_id = $1 AND chat_id = $2 AND left_at IS NULL',
      [GUILD, chatId],
    )
  )[0]?.['roles'];
let last = 0;
const newUser = () => String(925000000000000000n + BigInt(++last));

test('permissions, roles of the guild and members that were read before take no call, and follow changes at once', async () => {
  await rolesOf(ADA);
  await chat.forget();
  for (let read = 0; read < 20; read++) expect(await rolesOf(ADA)).toEqual([OFFICER, VERIFIED]);
  const { roles } = await client.listGuildRoles({ guildId: GUILD });
  expect(roles.map(({ id }) => id)).toContain(OFFICER);
  await change('update', ADA, { roles: [VERIFIED] });
  await expect.poll(() => rolesOf(ADA), PATIENCE).toEqual([VERIFIED]);
  await change('update', ADA, { roles: [OFFICER, VERIFIED] });
  await expect.poll(() => rolesOf(ADA), PATIENCE).toEqual([OFFICER, VERIFIED]);
  expect(await totalCalls()).toBe(0);
});

test('a change of the roles of the guild decides at once what is assignable, without a call', async () => {
  await chat.forget();
  const list = async () => (await fixture.get(`/guilds/${GUILD}/roles`, { at: members })).body.data.roles;
  const assignable = async () => (await list()).find(({ id }: { id: string }) => id === OFFICER)?.assignable;
  expect(await assignable()).toBe(true);
  await control('/__roles', { guild: GUILD, action: 'update', role: { id: OFFICER, managed: true } });
  await expect.poll(assignable, PATIENCE).toBe(false);
  await control('/__roles', { guild: GUILD, action: 'update', role: { id: OFFICER, managed: false } });
  await expect.poll(assignable, PATIENCE).toBe(true);
  expect(await totalCalls()).toBe(0);
});

test('joins, role changes and leaves are stored, and the next read knows the member without a call', async () => {
  const user = newUser();
  await chat.forget();
  await change('join', user, { username: 'newcomer' });
  await expect.poll(() => mirrored(user), PATIENCE).toEqual([]);
  expect(await rolesOf(user)).toEqual([]);
  await change('update', user, { roles: [OFFICER] });
  await expect.poll(() => mirrored(user), PATIENCE).toEqual([OFFICER]);
  expect(await rolesOf(user)).toEqual([OFFICER]);
  expect(await totalCalls()).toBe(0);
  await change('leave', user);
  await expect.poll(() => mirrored(user), PATIENCE).toBeUndefined();
  expect(await rolesOf(user)).toBeUndefined();
});

test('a connection that is cut is resumed: nothing is missed, and the mirror stays current', async () => {
  const before = await epoch();
  const user = newUser();
  await control('/__gateway', { action: 'cut' });
  await change('join', user, { username: 'during' });
  await change('update', user, { roles: [OFFICER] });
  await expect.poll(() => mirrored(user), PATIENCE).toEqual([OFFICER]);
  await vi.waitUntil(() => fixture.isMirrorLive(), PATIENCE);
  expect(await epoch()).toBe(before);
});

test('after a gap members are read again on demand, and changes in the gap are seen', async () => {
  const before = await epoch();
  await control('/__gateway', { action: 'forget' });
  await change('update', ADA, { roles: [OFFICER] });
  await vi.waitUntil(async () => (await epoch()) !== before && (await fixture.isMirrorLive()), {
    timeout: 30_000,
    interval: 100,
  });
  await chat.forget();
  expect(await rolesOf(ADA)).toEqual([OFFICER]);
  expect(await totalCalls()).toBe(1);
  expect(await rolesOf(ADA)).toEqual([OFFICER]);
  expect(await totalCalls()).toBe(1);
});

test('after two gaps in a row permissions are still answered while the platform does not respond', async () => {
  const roles = await rolesOf(ADA);
  for (let gap = 0; gap < 2; gap++) {
    const before = await epoch();
    await control('/__gateway', { action: 'forget' });
    await vi.waitUntil(async () => (await epoch()) !== before && (await fixture.isMirrorLive()), {
      timeout: 30_000,
      interval: 100,
    });
  }
  await chat.fault('/members/', { delay_ms: 3_000 });
  expect(await rolesOf(ADA)).toEqual(roles);
  await chat.forget();
});

test('another process resumes the session of a stopped one, without a gap', async () => {
  const before = await epoch();
  const other = await fixture.startMembers(FED);
  const user = newUser();
  await members.stop();
  await change('join', user, { username: 'between' });
  await expect.poll(() => mirrored(user), PATIENCE).toEqual([]);
  await vi.waitUntil(() => fixture.isMirrorLive(), PATIENCE);
  expect(await epoch()).toBe(before);
  await other.stop();
  members = await fixture.startMembers(FED);
});

test('roles that we assign are in the mirror before the websocket reports them', async () => {
  const chatId = newUser();
  const gameId = 7001;
  await change('join', chatId, { username: randomUUID() });
  await expect.poll(() => mirrored(chatId), PATIENCE).toEqual([]);
  await fixture.linkPastMembers(chatId, gameId);
  await fixture.bindRank(OFFICER, { min: 1 });
  const sync = () => fixture.post('/sync/roles', { guild_id: GUILD, chat_id: chatId }, { at: members });
  expect((await sync()).body.data.added).toEqual([OFFICER]);
  await chat.forget();
  expect((await sync()).body.data).toMatchObject({ added: [], unchanged: [OFFICER] });
  expect(await totalCalls()).toBe(0);
});
