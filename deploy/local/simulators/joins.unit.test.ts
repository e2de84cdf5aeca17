import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';

const guildId = '900000000000000001';
const guild = `/api/v10/guilds/${guildId}`;
const roleId = (last: number) => `9100000000000000${String(last).padStart(2, '0')}`;
const userId = (last: number) => `9200000000000000${String(last).padStart(2, '0')}`;
const nora = userId(20);
const path = (last: number) => `${guild}/members/${userId(last)}`;
const denied = { status: 403, body: { code: 50013 } };
const invalid = { status: 400, body: { code: 50035 } };

let simulators: Simulators;
let now: number;

beforeEach(async () => {
  now = 1_700_000_000_000;
  simulators = await startSimulators({ clock: () => now });
});
afterEach(() => simulators.stop());

const ask = (method: string, route: string, body?: unknown) =>
  call(simulators.chat + route, { method, body, headers: { authorization: 'Bot token' } });
const control = (method: string, route: string, body?: unknown) => call(simulators.chat + route, { method, body });
const member = async (last: number) => (await ask('GET', path(last))).body;
const timeOut = (last: number, until: unknown) => ask('PATCH', path(last), { communication_disabled_until: until });
const days = (count: number) => new Date(now + count * 86_400_000).toISOString();

async function token(person: string, scope = 'identify guilds.join'): Promise<string> {
  const { body } = await control('POST', '/__access_tokens', { person, scope });
  return (body as { access_token: string }).access_token;
}

/** Gives the bot's role other permissions. */
function permit(permissions: bigint) {
  const role = simulators.world.guilds.get(guildId)?.roles.get(roleId(9));
  if (role) role.permissions = String(permissions);
}

test('a timeout of up to 28 days is set, shown with the member, and ended by null', async () => {
  const set = await timeOut(4, days(28));
  expect(set).toMatchObject({
    status: 200,
    body: { communication_disabled_until: days(28).replace('Z', '000+00:00') },
  });
  expect(await member(4)).toEqual(set.body);
  expect(await timeOut(4, new Date(now + 28 * 86_400_000 + 1).toISOString())).toMatchObject(invalid);
  expect(await timeOut(4, 'tomorrow')).toMatchObject(invalid);
  expect(await timeOut(4, null)).toMatchObject({ status: 200, body: { communication_disabled_until: null } });
});

test('the owner, an administrator, and members who are not below the bot cannot be timed out', async () => {
  for (const last of [12, 10]) expect(await timeOut(last, days(1))).toMatchObject(denied);
  const officer = simulators.world.guilds.get(guildId)?.roles.get(roleId(1));
  if (officer) officer.permissions = String(1n << 3n);
  expect(await timeOut(1, days(1))).toMatchObject(denied);
});

test('a bot without MODERATE_MEMBERS cannot time out, but change nicknames', async () => {
  permit(1n << 27n);
  expect(await timeOut(4, days(1))).toMatchObject(denied);
  expect((await ask('PATCH', path(4), { nick: 'Dima' })).status).toBe(200);
});

test('a person with a token of guilds.join joins with roles and a nickname; a member stays unchanged', async () => {
  const body = { access_token: await token(nora), roles: [roleId(6)], nick: 'Nora B' };
  const joined = await ask('PUT', path(20), body);
  expect(joined).toMatchObject({ status: 201, body: { user: { id: nora }, roles: [roleId(6)], nick: 'Nora B' } });
  expect(await member(20)).toEqual(joined.body);
  expect(await ask('PUT', path(20), { ...body, roles: [], nick: 'Other' })).toMatchObject({ status: 204 });
  expect(await member(20)).toMatchObject({ roles: [roleId(6)], nick: 'Nora B' });
  const page = await ask('GET', `${guild}/members?limit=2&after=${userId(12)}`);
  expect(page.body).toMatchObject([{ user: { id: nora } }, { user: { bot: true } }]);
});

test('a token of another person or scope, a revoked one and none are refused', async () => {
  const refused = { status: 403, body: { code: 50025 } };
  const join = async (access_token?: string) => ask('PUT', path(20), { access_token });
  expect(await join(await token(userId(4)))).toMatchObject(refused);
  expect(await join(await token(nora, 'identify'))).toMatchObject(refused);
  const revoked = await token(nora);
  await control('DELETE', `/__grants?person=${nora}`);
  expect(await join(revoked)).toMatchObject(refused);
  expect(await join()).toMatchObject(invalid);
});

test('a join needs CREATE_INSTANT_INVITE, and roles that the bot can assign', async () => {
  const access = await token(nora);
  expect(await ask('PUT', path(20), { access_token: access, roles: [roleId(10)] })).toMatchObject(denied);
  permit(1n << 28n);
  expect(await ask('PUT', path(20), { access_token: access, roles: [roleId(6)] })).toMatchObject(denied);
  expect((await ask('GET', path(20))).status).toBe(404);
});

test('an invite with roles gives them to whoever accepts it, until it is used up or expired', async () => {
  const form = { role_ids: [roleId(6)], max_age: 3600, max_uses: 2, unique: true };
  const { status, body } = await ask('POST', `/api/v10/channels/${guildId}/invites`, form);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    guild: { id: guildId },
    channel: { id: guildId },
    roles: [{ id: roleId(6) }],
    max_age: 3600,
    max_uses: 2,
    uses: 0,
  });
  const { code } = body as { code: string };
  expect((await control('POST', '/__invites', { code, user: nora })).status).toBe(204);
  expect(await member(20)).toMatchObject({ roles: [roleId(6)], user: { username: 'nora' } });
  expect((await control('POST', '/__invites', { code, user: userId(30), username: 'olaf' })).status).toBe(204);
  expect((await control('POST', '/__invites', { code, user: userId(31) })).status).toBe(400);
  const next = (await ask('POST', `/api/v10/channels/${guildId}/invites`, form)).body as { code: string };
  now += 3_600_000;
  expect((await control('POST', '/__invites', { code: next.code, user: userId(31) })).status).toBe(400);
  expect((await control('GET', '/__invites')).body).toEqual({ invites: [] });
});

test('an equal invite is returned again unless it has to be unique', async () => {
  const create = async (unique: boolean) =>
    (await ask('POST', `/api/v10/channels/${guildId}/invites`, { unique })).body as { code: string };
  const { code } = await create(false);
  expect(await create(false)).toMatchObject({ code });
  expect((await create(true)).code === code).toBe(false);
});

async function invite(users: string, fields: object = {}) {
  const form = new FormData();
  form.append('payload_json', JSON.stringify({ role_ids: [roleId(6)], ...fields }));
  form.append('target_users_file', new Blob([users]), 'users.csv');
  const path = `${simulators.chat}/api/v10/channels/${guildId}/invites`;
  const response = await fetch(path, { method: 'POST', body: form, headers: { authorization: 'Bot token' } });
  return { status: response.status, body: (await response.json()) as { code: string } };
}

test('an invite with a file of users is accepted only by them', async () => {
  const { status, body } = await invite(`user_id\n${nora}\n`, { max_uses: 1 });
  expect([status, body]).toEqual([200, expect.objectContaining({ max_uses: 1, uses: 0 })]);
  const accept = (user: string) => control('POST', '/__invites', { code: body.code, user });
  expect((await accept(userId(31))).status).toBe(400);
  expect((await accept(nora)).status).toBe(204);
  expect(await member(20)).toMatchObject({ roles: [roleId(6)] });
  for (const users of ['', 'nora']) expect(await invite(users)).toMatchObject(invalid);
});

test('a channel is found with its guild', async () => {
  const path = (id: string) => `/api/v10/channels/${id}`;
  expect(await ask('GET', path(guildId))).toMatchObject({ status: 200, body: { id: guildId, guild_id: guildId } });
  expect(await ask('GET', path('900000000000000009'))).toMatchObject({ status: 404, body: { code: 10003 } });
});

test.each([{ max_age: 604_801 }, { max_uses: 101 }, { max_age: '5' }, { role_ids: 'all' }])(
  'the invite %j is refused',
  async (form) => {
    expect(await ask('POST', `/api/v10/channels/${guildId}/invites`, form)).toMatchObject(invalid);
  },
);

test('an invite of an unknown channel, of roles above the bot, or without permission is refused', async () => {
  expect(await ask('POST', '/api/v10/channels/900000000000000009/invites', {})).toMatchObject({
    status: 404,
    body: { code: 10003 },
  });
  const above = { role_ids: [roleId(10)] };
  expect(await ask('POST', `/api/v10/channels/${guildId}/invites`, above)).toMatchObject(denied);
  permit(1n << 28n);
  expect(await ask('POST', `/api/v10/channels/${guildId}/invites`, {})).toMatchObject(denied);
  expect((await ask('GET', `${guild}/channels`)).body).toMatchObject([{ id: guildId, name: 'general', type: 0 }]);
});

test('the controls let persons join, leave and be changed as by an administrator', async () => {
  const change = (body: object) => control('POST', '/__members', { guild: guildId, user: nora, ...body });
  expect((await change({ action: 'join', roles: [roleId(10)] })).status).toBe(204);
  expect(await member(20)).toMatchObject({ roles: [roleId(10)] });
  await change({ action: 'update', roles: [], nick: 'N', timeout_until: days(40) });
  expect(await member(20)).toMatchObject({ roles: [], nick: 'N', communication_disabled_until: expect.any(String) });
  await change({ action: 'leave' });
  expect((await ask('GET', path(20))).status).toBe(404);
  expect((await change({ action: 'leave' })).status).toBe(400);
  expect((await change({ action: 'join', roles: [roleId(99)] })).status).toBe(400);
});

test('the controls create, change and delete roles', async () => {
  const change = (action: string, role: object) => control('POST', '/__roles', { guild: guildId, action, role });
  expect((await change('create', { id: roleId(50), name: 'Cook', position: 2 })).status).toBe(204);
  expect((await ask('PUT', `${path(4)}/roles/${roleId(50)}`)).status).toBe(204);
  await change('update', { id: roleId(50), position: 20 });
  expect(await ask('PUT', `${path(5)}/roles/${roleId(50)}`)).toMatchObject(denied);
  await change('delete', { id: roleId(50) });
  expect(await member(4)).toMatchObject({ roles: [] });
  expect((await change('delete', { id: roleId(50) })).status).toBe(400);
  expect((await change('create', { id: roleId(1) })).status).toBe(400);
});
