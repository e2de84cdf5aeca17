import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';
import { loadWorld, World } from './world.ts';

const guildId = '900000000000000001';
const bot = { id: '930000000000000001', roles: ['910000000000000009'] };

test('the demo world is one harbor with an owner, a managed role, a private inventory and a user of several ranks', () => {
  const world = loadWorld(undefined);
  const guild = world.guilds.get(guildId);
  expect(guild?.data).toMatchObject({ name: 'Harbor', owner_id: '920000000000000012', members: { length: 12 } });
  expect(guild?.data.roles.filter((role) => role.managed)).toHaveLength(2);
  expect([...world.users.values()].filter((user) => user.inventory_private)).toHaveLength(1);
  expect(
    world.groups
      .get(501)
      ?.members.get(7002)
      ?.roles.map((role) => role.rank),
  ).toEqual([200, 50]);
});

test('a world file is read from its path, and what it leaves out has a sensible value', () => {
  const folder = mkdtempSync(join(tmpdir(), 'world-'));
  const path = join(folder, 'world.json');
  const member = { id: '920000000000000001', username: 'ada' };
  writeFileSync(path, JSON.stringify({ chat: { guilds: [{ id: guildId, name: 'Harbor', members: [member], bot }] } }));
  const world = loadWorld(path);
  rmSync(folder, { recursive: true });
  expect(world.data.game.users).toEqual([]);
  expect(world.guilds.get(guildId)?.members.get(member.id)).toMatchObject({ nick: null, roles: [] });
});

test('a role that the bot holds and the file does not describe is made: managed, above all others', () => {
  const roles = [{ id: '910000000000000001', name: 'Officer', position: 5 }];
  const world = new World({ chat: { guilds: [{ id: guildId, name: 'Harbor', roles, bot }] } });
  const made = world.guilds.get(guildId)?.roles.get('910000000000000009');
  expect(made).toMatchObject({ managed: true, position: 6 });
});

test('every error in a world is reported with its path', () => {
  const roles = [{ id: '12', name: 'Officer', position: 0 }];
  const user = { id: 1, name: 'Ada', groups: [{ group_id: 501, ranks: [50] }], badges: [801], colour: 'red' };
  const world = { chat: { guilds: [{ id: guildId, name: 'Harbor', roles, bot: {} }] }, game: { users: [user] } };
  expect(() => new World(world)).toThrow(/chat\.guilds\[0\]\.roles\[0\]\.id.*\n.*roles\[0\]\.position.*\n.*bot\.id/);
  expect(() => new World(world)).toThrow(/game\.users\[0\]: Unrecognized key: "colour"/);
});

test('references to what does not exist, and repeated IDs, are faults', () => {
  const member = { id: '920000000000000001', username: 'ada', roles: ['910000000000000002'] };
  const group = { id: 501, name: 'Crew', roles: [{ id: 1, name: 'Deckhand', rank: 50 }] };
  const user = { id: 1, name: 'Ada', groups: [{ group_id: 501, ranks: [60] }], badges: [801] };
  const world = {
    chat: { guilds: [{ id: guildId, name: 'Harbor', owner_id: bot.id, members: [member, member], bot }] },
    game: { users: [user, { id: 2, name: 'ADA', groups: [{ group_id: 502, ranks: [1] }] }], groups: [group] },
  };
  const faults = [
    'chat.guilds[0].members[1].id: is there twice: 920000000000000001',
    'chat.guilds[0].members[0].roles[0]: no such role of the guild: 910000000000000002',
    'chat.guilds[0].owner_id: no such member of the guild: 930000000000000001',
    'game.users[1].name: is there twice: ada',
    'game.users[0].groups[0].ranks[0]: no such rank of a role of group 501: 60',
    'game.users[1].groups[0].group_id: no such group: 502',
    'game.users[0].badges[0]: no such badges: 801',
  ];
  for (const fault of faults) expect(() => new World(world)).toThrow(fault);
});

test('the current world can be read and replaced; an invalid one is rejected and changes nothing', async () => {
  const { chat, game, stop } = await startSimulators();
  const before = (await call(`${game}/__world`)).body as { chat: object };
  expect(before).toEqual(loadWorld(undefined).data);
  const without = { ...before, chat: { ...before.chat, guilds: [] } };
  expect((await call(`${game}/__world`, { method: 'PUT', body: without })).status).toBe(204);
  const headers = { authorization: 'Bot token' };
  expect((await call(`${chat}/api/v10/guilds/${guildId}`, { headers })).status).toBe(404);
  const refused = await call(`${chat}/__world`, { method: 'PUT', body: { chat: { guilds: [{}] } } });
  expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining('chat.guilds[0].id') } });
  expect((await call(`${game}/__world`)).body).toEqual(without);
  await stop();
});

test('a page out of 10,000 members comes in numeric order of the IDs, also where they differ in length', async () => {
  const ids = Array.from({ length: 10_000 }, (_, index) => String(99_999_999_999_995_000n + BigInt(index)));
  const members = ids.toReversed().map((id) => ({ id, username: `member-${id}` }));
  const world = new World({ chat: { guilds: [{ id: guildId, name: 'Harbor', members, bot }] } });
  const { chat, stop } = await startSimulators({ world });
  const url = `${chat}/api/v10/guilds/${guildId}/members?limit=1000&after=${ids[4499]}`;
  const { body } = await call(url, { headers: { authorization: 'Bot token' } });
  expect((body as { user: { id: string } }[]).map((member) => member.user.id)).toEqual(ids.slice(4500, 5500));
  await stop();
});
