// Guarantees of the mirror about reads of the platform whose responses are older than events: the event wins.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { addressOf, listen } from '#kit/service/address.ts';
import type { RunningService } from '#kit/service/service.ts';
import { Platform } from '#platforms/fixture.ts';
import { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import { connect } from '#test/network/grpc.ts';
import { PATIENCE } from '#test/patience.ts';
import { GUILD, MembersFixture } from './fixture.ts';

const OFFICER = '910000000000000001';
const VERIFIED = '910000000000000006';

const fixture = new MembersFixture();
let chat: Platform;
let members: RunningService;
let client: GrpcClient<typeof MembersServiceService>;
const closing: (() => unknown)[] = [];

/** The responses about members that wait on their way; undefined while responses are passed on at once. */
let held: { responses: (() => void)[] } | undefined;

/** Passes requests on to the simulated platform. Responses about single members wait while `held` is set. */
async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '' } = request;
  const headers = { authorization: request.headers.authorization ?? '', 'user-agent': 'DiscordBot (x, 1)' };
  const answer = await fetch(chat.url + url, { method, headers });
  const body = await answer.text();
  if (held && /\/members\/\d+$/.test(url)) {
    const waiting = held;
    await new Promise<void>((resolve) => waiting.responses.push(resolve));
  }
  response.writeHead(answer.status, { 'content-type': 'application/json' });
  response.end(body);
}

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  const server = createServer((request, response) => void relay(request, response));
  await listen(server, '127.0.0.1', 0);
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const api = `http://${addressOf(server)}/api/v10`;
  members = await fixture.startMembers({ CHAT_GATEWAY_ENABLED: 'true', CHAT_API_URL: api });
  const connected = connect(MembersServiceService, 'members', members.addresses.grpc ?? '', fixture.clock);
  client = connected.client;
  closing.push(connected.close);
  await vi.waitUntil(() => fixture.isMirrorLive(), PATIENCE);
  // Uses the guild, so that its members are mirrored.
  await rolesOf('920000000000000001');
});
afterAll(async () => {
  await members.stop();
  for (const close of closing) await close();
  await fixture.stop();
});
beforeEach(() => {
  held = undefined;
});

const control = async (path: string, body: object) => {
  const response = await fetch(chat.url + path, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
};
const change = (action: 'join' | 'leave' | 'update', user: string, fields: object = {}) =>
  control('/__members', { guild: GUILD, user, action, ...fields });
const rolesOf = async (chatId: string) =>
  (await client.getMemberRoles({ guildId: GUILD, chatId })).member?.roles.map(({ id }) => id);
const rowOf = async (chatId: string) =>
  (
    await fixture.query(
      'SELECT roles, username, left_at FROM members.mirror_members WHERE guild_id = $1 AND chat_id = $2',
      [GUILD, chatId],
    )
  )[0];

let last = 0;
/** Returns a member of whom the mirror has no row, as of members of the time before the service was used. */
async function newMember(): Promise<string> {
  const user = String(926000000000000000n + BigInt(++last));
  await change('join', user, { username: `person-${user}` });
  await vi.waitUntil(() => rowOf(user), PATIENCE);
  await fixture.query('DELETE FROM members.mirror_members WHERE chat_id = $1', [user]);
  return user;
}

/** Runs `during` while the platform's response to a read of the member is on its way. Returns what the read returned. */
async function readDuring(user: string, during: () => Promise<void>): Promise<string[] | undefined> {
  const waiting = { responses: [] as (() => void)[] };
  held = waiting;
  const reading = rolesOf(user);
  await vi.waitUntil(() => waiting.responses.length === 1, PATIENCE);
  held = undefined;
  await during();
  for (const respond of waiting.responses) respond();
  return reading;
}

test('a member who leaves during a read is not in the mirror afterwards, and nothing personal is stored', async () => {
  const user = await newMember();
  await readDuring(user, async () => {
    await change('leave', user);
    await vi.waitUntil(async () => (await rowOf(user))?.['left_at'], PATIENCE);
  });
  expect(await rowOf(user)).toMatchObject({ username: '', roles: [], left_at: expect.any(Date) });
  expect(await rolesOf(user)).toBeUndefined();
});

test('a member who leaves and joins again during a read has the roles of the join, not those of the read', async () => {
  const user = await newMember();
  await change('update', user, { roles: [OFFICER] });
  await vi.waitUntil(() => rowOf(user), PATIENCE);
  await fixture.query('DELETE FROM members.mirror_members WHERE chat_id = $1', [user]);
  await readDuring(user, async () => {
    await change('leave', user);
    await change('join', user, { username: 'again' });
    await vi.waitUntil(async () => (await rowOf(user))?.['username'] === 'again', PATIENCE);
  });
  await chat.forget();
  expect(await rolesOf(user)).toEqual([]);
  expect(await chat.calls()).toEqual({});
});

test('a member who changes during a read has the roles of the event afterwards', async () => {
  const user = await newMember();
  await readDuring(user, async () => {
    await change('update', user, { roles: [VERIFIED] });
    await vi.waitUntil(() => rowOf(user), PATIENCE);
  });
  await chat.forget();
  expect(await rolesOf(user)).toEqual([VERIFIED]);
  expect(await chat.calls()).toEqual({});
});

test('a role that is deleted during a read is nobody’s role afterwards, and permissions still take no call', async () => {
  const role = { id: '910000000000000077', name: 'Short-lived', position: 1 };
  await control('/__roles', { guild: GUILD, action: 'create', role });
  const user = await newMember();
  await change('update', user, { roles: [OFFICER, role.id] });
  await vi.waitUntil(() => rowOf(user), PATIENCE);
  await fixture.query('DELETE FROM members.mirror_members WHERE chat_id = $1', [user]);
  await readDuring(user, async () => {
    await control('/__roles', { guild: GUILD, action: 'delete', role: { id: role.id } });
    await vi.waitUntil(async () => !(await isRoleMirrored(role.id)), PATIENCE);
  });
  await chat.forget();
  expect(await rolesOf(user)).toEqual([OFFICER]);
  expect(await chat.calls()).toEqual({});
});

async function isRoleMirrored(roleId: string): Promise<boolean> {
  const [row] = await fixture.query(
    `SELECT roles @> jsonb_build_array(jsonb_build_object('id', $2::text)) AS known FROM members.mirror_guilds
     WHERE guild_id = $1`,
    [GUILD, roleId],
  );
  return row?.['known'] === true;
}
