// Guarantees: each join, leave and change of roles that the chat platform reports is an event, once, also after a lost
// connection; a guild cannot fill the log with them.
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { Platform } from '#platforms/fixture.ts';
import { PATIENCE } from '#test/patience.ts';
import { recordedEvents } from '#test/postgres/recorded-events.ts';
import { MAX_REPORTS_PER_HOUR } from './domain/member-reports.ts';
import { GUILD, MembersFixture } from './fixture.ts';

const ADA = '920000000000000001';
const OFFICER = '910000000000000001';
const VERIFIED = '910000000000000006';

const fixture = new MembersFixture();
let chat: Platform;
let members: RunningService;
let last = 0;

beforeAll(async () => {
  await fixture.start();
  chat = new Platform(fixture.simulators.chat);
  members = await fixture.startMembers({ CHAT_GATEWAY_ENABLED: 'true' });
  await fixture.useMirroredGuild();
});
afterAll(async () => {
  await members.stop();
  await fixture.stop();
});
beforeEach(async () => {
  await fixture.query('TRUNCATE members.events, members.event_counters, members.member_reports');
});

async function control(path: string, body: object): Promise<void> {
  const response = await fetch(chat.url + path, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
}
const change = (action: 'join' | 'leave' | 'update', user: string, fields: object = {}) =>
  control('/__members', { guild: GUILD, user, action, ...fields });
const newUser = () => String(926000000000000000n + BigInt(++last));

/** The events about members, as `type: roles` with the added and removed roles. */
async function reported() {
  const events = await recordedEvents(fixture.database.url, 'members', GUILD);
  return events.filter(({ type }) => type.startsWith('member.')).map(({ type, data }) => ({ type, data }));
}

test('a join, a change of roles and a leave are one event each, with who it was', async () => {
  const user = newUser();
  await change('join', user, { username: 'newcomer' });
  await change('update', user, { roles: [OFFICER] });
  await change('update', user, { roles: [VERIFIED] });
  await change('update', user, { roles: [VERIFIED] });
  await change('leave', user);
  await vi.waitUntil(async () => (await reported()).length === 4, PATIENCE);
  expect(await reported()).toEqual([
    { type: 'member.joined', data: { chat_id: user } },
    { type: 'member.roles_changed', data: { chat_id: user, added: [OFFICER], removed: [] } },
    { type: 'member.roles_changed', data: { chat_id: user, added: [VERIFIED], removed: [OFFICER] } },
    { type: 'member.left', data: { chat_id: user } },
  ]);
  const [event] = await recordedEvents(fixture.database.url, 'members', GUILD);
  expect(event).toMatchObject({ source: { kind: 'system', id: 'chat-platform' }, persons: [`chat:${user}`] });
});

test('changes during a lost connection are reported once when it is resumed', async () => {
  const users = [newUser(), newUser(), newUser()];
  await control('/__gateway', { action: 'cut' });
  for (const user of users) await change('join', user, { username: user });
  await vi.waitUntil(async () => (await reported()).length >= users.length, PATIENCE);
  await control('/__gateway', { action: 'cut' });
  const late = newUser();
  await change('join', late, { username: late });
  await vi.waitUntil(async () => (await reported()).some(({ data }) => data['chat_id'] === late), PATIENCE);
  expect((await reported()).map(({ data }) => data['chat_id'])).toEqual([...users, late]);
});

test('a guild that has too many within an hour has no more events of them until the next hour', async () => {
  await fixture.query(
    `INSERT INTO members.member_reports (guild_id, hour, count) VALUES ($1, date_trunc('hour', clock_timestamp(), 'UTC'), $2)`,
    [GUILD, MAX_REPORTS_PER_HOUR - 1],
  );
  const users = [newUser(), newUser()];
  for (const user of users) await change('join', user, { username: user });
  const counted = async () => (await fixture.query('SELECT count FROM members.member_reports'))[0]?.['count'];
  await vi.waitUntil(async () => (await counted()) === MAX_REPORTS_PER_HOUR + 1, PATIENCE);
  expect((await reported()).map(({ data }) => data['chat_id'])).toEqual([users[0]]);
  await fixture.query('UPDATE members.member_reports SET hour = $1', [new Date(Date.now() - 3_600_000)]);
  await change('leave', ADA);
  await vi.waitUntil(async () => (await reported()).length === 2, PATIENCE);
  expect(await counted()).toBe(1);
});

test('a guild that does not use this service has no events of its members', async () => {
  await fixture.query('UPDATE members.mirror_guilds SET used_at = NULL WHERE guild_id = $1', [GUILD]);
  const [first, second] = [newUser(), newUser()];
  const position = async () =>
    Number((await fixture.query('SELECT sequence FROM members.chat_shards'))[0]?.['sequence']);
  const before = await position();
  await change('join', first, { username: first });
  await vi.waitUntil(async () => (await position()) > before, PATIENCE);
  await fixture.useMirroredGuild();
  await change('join', second, { username: second });
  await vi.waitUntil(async () => (await reported()).length === 1, PATIENCE);
  expect(await reported()).toEqual([{ type: 'member.joined', data: { chat_id: second } }]);
});
