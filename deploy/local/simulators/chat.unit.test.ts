import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';
import { World } from './world.ts';

const guild = '/api/v10/guilds/900000000000000001';
const roleId = (last: number) => `9100000000000000${String(last).padStart(2, '0')}`;
const userId = (last: number) => `9200000000000000${String(last).padStart(2, '0')}`;
const [officer, captain, deckhand, harbormaster, booster] = [1, 2, 3, 10, 8].map(roleId);
const authorization = 'Bot token';
let simulators: Simulators;
let now = 1_700_000_000_000;

beforeEach(async () => {
  simulators = await startSimulators({
    clock: () => now,
    limits: { 'member-edit': { count: 2, seconds: 10 } },
  });
});
afterEach(() => simulators.stop());

const ask = (method: string, path: string, body?: unknown, headers = {}) =>
  call(simulators.chat + path, { method, body, headers: { authorization, ...headers } });

test('roles have @everyone with the ID of the guild, and IDs and permissions are strings', async () => {
  const { body } = await ask('GET', `${guild}/roles`);
  expect(body).toContainEqual(expect.objectContaining({ id: '900000000000000001', name: '@everyone', position: 0 }));
  expect(body).toContainEqual(
    expect.objectContaining({
      id: roleId(9),
      managed: true,
      permissions: '1099914280961',
      tags: { bot_id: '930000000000000001' },
    }),
  );
});

test.each(['0', String(1n << 27n)])('a bot with the permissions %s can assign no role', async (permissions) => {
  const world = structuredClone(simulators.world.data);
  for (const role of world.chat.guilds[0]?.roles ?? []) if (role.id === roleId(9)) role.permissions = permissions;
  simulators.world.replace(world);
  const before = await ask('GET', `${guild}/members/${userId(1)}`);
  const refused = await ask('PUT', `${guild}/members/${userId(1)}/roles/${roleId(3)}`);
  expect(refused).toMatchObject({ status: 403, body: { code: 50013 } });
  expect((await ask('GET', `${guild}/members/${userId(1)}`)).body).toEqual(before.body);
});

test('a world without permissions has a bot that can assign roles', async () => {
  const bot = { id: '930000000000000001', roles: [roleId(9)] };
  const roles = [1, 9].map((position) => ({ id: roleId(position), name: `Role ${position}`, position }));
  const members = [{ id: userId(1), username: 'ada' }];
  simulators.world.replace({ chat: { guilds: [{ id: '900000000000000001', name: 'Harbor', bot, roles, members }] } });
  expect((await ask('PUT', `${guild}/members/${userId(1)}/roles/${roleId(1)}`)).status).toBe(204);
});

test('member counts leave @everyone out', async () => {
  const { body } = await ask('GET', `${guild}/roles/member-counts`);
  expect(body).toMatchObject({ [deckhand as string]: 2, [harbormaster as string]: 1 });
  expect(body).not.toHaveProperty('900000000000000001');
});

test('a member is shown in the platform’s form, with a time that ends in an offset and not in Z', async () => {
  expect((await ask('GET', `${guild}/members/${userId(1)}`)).body).toMatchObject({
    user: { id: userId(1), username: 'ada', global_name: null, bot: false },
    nick: null,
    roles: [officer, roleId(6)],
    joined_at: '2024-01-05T10:00:00.000000+00:00',
  });
});

test('the bot answers as a user and as a member, and is in the pages of members', async () => {
  const { body } = await ask('GET', '/api/v10/users/@me');
  expect(body).toMatchObject({ id: '930000000000000001', username: 'guild-data', bot: true });
  const self = await ask('GET', `${guild}/members/930000000000000001`);
  expect(self.body).toMatchObject({ user: { bot: true }, roles: [roleId(9)] });
  const last = await ask('GET', `${guild}/members?limit=1000&after=${userId(12)}`);
  expect(last.body).toMatchObject([{ user: { id: '930000000000000001' } }]);
});

test('a page of members has one member, or up to `limit` (at most 1,000), and starts after the ID `after`', async () => {
  expect((await ask('GET', `${guild}/members`)).body).toHaveLength(1);
  expect((await ask('GET', `${guild}/members?limit=1000`)).body).toHaveLength(13);
  const page = await ask('GET', `${guild}/members?limit=2&after=${userId(3)}`);
  expect(page.body).toMatchObject([{ user: { id: userId(4) } }, { user: { id: userId(5) } }]);
  for (const limit of ['0', '1001', 'all'])
    expect(await ask('GET', `${guild}/members?limit=${limit}`)).toMatchObject({ status: 400, body: { code: 50035 } });
});

test('listing members without the privileged intent is refused', async () => {
  const bot = { id: '930000000000000001', members_intent: false };
  simulators.world.replace({ chat: { guilds: [{ id: '900000000000000001', name: 'Harbor', bot }] } });
  expect(await ask('GET', `${guild}/members`)).toMatchObject({ status: 403, body: { code: 50001 } });
});

test('the search finds the beginning of a username or a nickname, whatever its case', async () => {
  expect((await ask('GET', `${guild}/members/search?query=LENA&limit=10`)).body).toMatchObject([
    { nick: 'Lena (owner)' },
  ]);
  expect((await ask('GET', `${guild}/members/search?query=uno`)).body).toEqual([]);
  expect((await ask('GET', `${guild}/members/search`)).status).toBe(400);
});

test('unknown guild, member and role, and an ID that is no snowflake, each have their code', async () => {
  expect(await ask('GET', '/api/v10/guilds/900000000000000009/roles')).toMatchObject({
    status: 404,
    body: { code: 10004 },
  });
  expect(await ask('GET', `${guild}/members/${userId(99)}`)).toMatchObject({ status: 404, body: { code: 10007 } });
  const role = await ask('PUT', `${guild}/members/${userId(1)}/roles/${roleId(99)}`);
  expect(role).toMatchObject({ status: 404, body: { code: 10011 } });
  const malformed = await ask('GET', `${guild}/members/ada`);
  expect(malformed).toMatchObject({ status: 400, body: { code: 50035, errors: { user_id: {} } } });
});

test('a request without a bot token gets 401; an unknown path gets 404 and an unknown method 405', async () => {
  expect((await call(`${simulators.chat}${guild}/roles`)).status).toBe(401);
  expect((await call(`${simulators.chat}${guild}/roles`, { headers: { authorization: 'token' } })).status).toBe(401);
  expect((await ask('GET', '/guilds/900000000000000001/roles')).status).toBe(404);
  expect((await ask('DELETE', `${guild}/roles`)).status).toBe(405);
});

test('assigning or removing a role gets 204, also when repeated, and changes the world', async () => {
  const path = `${guild}/members/${userId(4)}/roles/${deckhand}`;
  for (const method of ['PUT', 'PUT', 'DELETE', 'DELETE', 'PUT'])
    expect(await ask(method, path)).toMatchObject({ status: 204, body: undefined });
  expect((await ask('GET', `${guild}/members/${userId(4)}`)).body).toMatchObject({ roles: [deckhand] });
  expect(simulators.world.data.chat.guilds[0]?.members[3]?.roles).toEqual([deckhand]);
});

test('a role above the bot’s highest, the bot’s own and a managed one can’t be given or taken', async () => {
  for (const role of [harbormaster, roleId(9), booster])
    for (const method of ['PUT', 'DELETE'])
      expect(await ask(method, `${guild}/members/${userId(5)}/roles/${role}`)).toMatchObject({
        status: 403,
        body: { code: 50013, message: 'Missing Permissions' },
      });
});

test('of two roles in one position the one with the lower ID is the higher', async () => {
  const roles = [1, 2, 3].map((last) => ({ id: roleId(last), name: `Role ${last}`, position: 1 }));
  const bot = { id: '930000000000000001', roles: [roleId(2)] };
  const members = [{ id: userId(1), username: 'ada' }];
  simulators.world.replace({ chat: { guilds: [{ id: '900000000000000001', name: 'Harbor', roles, members, bot }] } });
  expect((await ask('PUT', `${guild}/members/${userId(1)}/roles/${roleId(1)}`)).status).toBe(403);
  expect((await ask('PUT', `${guild}/members/${userId(1)}/roles/${roleId(3)}`)).status).toBe(204);
});

test('a role below the bot’s can be given to a member who stands above the bot', async () => {
  expect((await ask('PUT', `${guild}/members/${userId(10)}/roles/${deckhand}`)).status).toBe(204);
});

test('a nickname of at most 32 characters is set; null or an empty one removes it', async () => {
  const path = `${guild}/members/${userId(6)}`;
  expect(await ask('PATCH', path, { nick: '⚓'.repeat(32) })).toMatchObject({
    status: 200,
    body: { nick: '⚓'.repeat(32) },
  });
  expect(await ask('PATCH', path, { nick: '' })).toMatchObject({ status: 200, body: { nick: null } });
  now += 10_000;
  const long = await ask('PATCH', path, { nick: 'x'.repeat(33) });
  expect(long).toMatchObject({ status: 400, body: { code: 50035, errors: { nick: { _errors: [{}] } } } });
  expect((await ask('PATCH', path, { nick: 5 })).status).toBe(400);
});

test('the nickname of the owner, or of a member who is not below the bot, cannot be changed', async () => {
  for (const last of [12, 10]) {
    const refused = await ask('PATCH', `${guild}/members/${userId(last)}`, { nick: 'x' });
    expect(refused).toMatchObject({ status: 403, body: { code: 50013 } });
  }
});

test('a list of roles replaces all roles; adding or omitting one that the bot cannot assign is rejected', async () => {
  const path = `${guild}/members/${userId(5)}`;
  expect(await ask('PATCH', path, { roles: [captain] })).toMatchObject({ status: 403, body: { code: 50013 } });
  const kept = await ask('PATCH', path, { roles: [booster, captain] });
  expect(kept).toMatchObject({ status: 200, body: { roles: [booster, captain] } });
  now += 10_000;
  expect(await ask('PATCH', path, { roles: [booster, roleId(99)] })).toMatchObject({
    status: 400,
    body: { code: 50028 },
  });
});

test('a body that is not JSON is refused', async () => {
  const url = `${simulators.chat}${guild}/members/${userId(5)}`;
  const response = await fetch(url, { method: 'PATCH', headers: { authorization }, body: '{"nick":' });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: 50109 });
});

test('the reason of a write is decoded and kept, one over 512 characters is refused and nothing is written', async () => {
  const path = `${guild}/members/${userId(4)}/roles/${deckhand}`;
  const reason = 'Führt das Ruder ⚓';
  await ask('PUT', path, undefined, { 'x-audit-log-reason': encodeURIComponent(reason) });
  await ask('PUT', path);
  const long = await ask('DELETE', path, undefined, { 'x-audit-log-reason': 'x'.repeat(513) });
  expect(long).toMatchObject({ status: 400, body: { code: 50035 } });
  expect((await call(`${simulators.chat}/__audit`)).body).toMatchObject({
    entries: [
      { at: now, method: 'PUT', user_id: userId(4), changes: { $add: deckhand }, changed: true, reason },
      { changed: false, reason: null },
    ],
  });
});

test('each bucket counts separately, and its headers show how many calls are left', async () => {
  const path = `${guild}/members/${userId(6)}`;
  const first = await ask('PATCH', path, { nick: 'One' });
  now += 2500;
  const second = await ask('PATCH', path, { nick: 'Two' });
  const bucket = first.headers.get('x-ratelimit-bucket');
  expect(bucket).toMatch(/^[0-9a-f]{32}$/);
  expect(Object.fromEntries(second.headers)).toMatchObject({
    'x-ratelimit-limit': '2',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': ((now + 7500) / 1000).toFixed(3),
    'x-ratelimit-reset-after': '7.500',
    'x-ratelimit-bucket': bucket,
  });
  const third = await ask('PATCH', path, { nick: 'Three' });
  expect(third).toMatchObject({ status: 429, body: { retry_after: 7.5, global: false } });
  expect(third.headers.get('retry-after')).toBe('8');
  expect(third.headers.get('x-ratelimit-scope')).toBe('user');
  expect((await ask('GET', path)).status).toBe(200);
  now += 7500;
  expect((await ask('PATCH', path, { nick: 'Four' })).status).toBe(200);
});

test('the 51st call of a bot within a second is refused, globally', async () => {
  now += 60_000;
  for (let index = 0; index < 50; index += 1) await ask('GET', `/api/v10/guilds/90000000000000000${index % 10}/roles`);
  const refused = await ask('GET', `${guild}/roles`);
  expect(refused).toMatchObject({ status: 429, body: { global: true, retry_after: 1 } });
  expect(refused.headers.get('x-ratelimit-global')).toBe('true');
  expect(refused.headers.get('x-ratelimit-scope')).toBe('global');
  const other = await ask('GET', `${guild}/roles`, undefined, { authorization: 'Bot other' });
  expect(other.status).toBe(200);
});

test('limits can be scaled', async () => {
  const scaled = await startSimulators({ world: new World(simulators.world.data), limitScale: 2, clock: () => now });
  const { headers } = await call(`${scaled.chat}${guild}/roles`, { headers: { authorization } });
  expect(headers.get('x-ratelimit-limit')).toBe('100');
  await scaled.stop();
});
