import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { startTestAuth, type TestAuth } from '#test/system/auth.ts';
import { ADDRESS, callerOf, connectConsole, newGuild, type TestConsole } from './fixtures/console.ts';

const HOUR_MS = 3_600_000;
const NOT_SIGNED_IN = { code: 'NOT_SIGNED_IN' };

const clock = new ManualClock();
let database: TestDatabase;
let auth: TestAuth;
let person: TestConsole;

beforeAll(async () => {
  database = await createTestDatabase();
  auth = await startTestAuth({ databaseUrl: database.url, clock });
  person = connectConsole(auth, clock);
});
afterAll(async () => {
  person.close();
  await auth.stop();
  await database.drop();
});

const getSession = (token: string) => person.client.getSession({ caller: callerOf(token) });
const sign = (token: string, guildId: string) =>
  person.client.signRequest({
    caller: callerOf(token),
    guildId,
    method: 'GET',
    target: `/api/v1/guilds/${guildId}/roles`,
  });

test.each(['', 'x', 'A'.repeat(43), '../../etc', 'A'.repeat(200)])(
  'the unknown token %j is no session',
  async (token) => {
    await expect(getSession(token)).rejects.toMatchObject(NOT_SIGNED_IN);
    await expect(sign(token, newGuild())).rejects.toMatchObject(NOT_SIGNED_IN);
  },
);

test('a session expires after 12 hours without a request', async () => {
  const guildId = newGuild();
  const token = await person.signIn(guildId);
  clock.advance(12 * HOUR_MS - 1_000);
  await expect(sign(token, guildId)).resolves.toMatchObject({ role: 'owner' });
  clock.advance(12 * HOUR_MS);
  await expect(sign(token, guildId)).rejects.toMatchObject(NOT_SIGNED_IN);
  await expect(getSession(token)).rejects.toMatchObject(NOT_SIGNED_IN);
});

test('a session expires 7 days after the sign-in, however often it is used', async () => {
  const guildId = newGuild();
  const token = await person.signIn(guildId);
  for (let hours = 0; hours < 7 * 24 - 6; hours += 6) {
    clock.advance(6 * HOUR_MS);
    await sign(token, guildId);
  }
  clock.advance(6 * HOUR_MS - 1_000);
  await sign(token, guildId);
  clock.advance(1_000);
  await expect(sign(token, guildId)).rejects.toMatchObject(NOT_SIGNED_IN);
});

test('a session that was ended signs nothing any more, and ending it again fails only because nobody is signed in', async () => {
  const guildId = newGuild();
  const token = await person.signIn(guildId);
  const end = () => person.client.endSessions({ caller: callerOf(token), sessionId: '', all: false });
  expect(await end()).toEqual({ ended: 1 });
  await expect(sign(token, guildId)).rejects.toMatchObject(NOT_SIGNED_IN);
  await expect(end()).rejects.toMatchObject(NOT_SIGNED_IN);
});

test('a check of sessions reports the role of each in its guild, and does not count as activity', async () => {
  const [guildId, other] = [newGuild(), newGuild()];
  const [viewer, owner] = [await person.signIn(guildId, 'viewer'), await person.signIn(other)];
  const sessions = [
    { sessionToken: viewer, guildId },
    { sessionToken: viewer, guildId: other },
    { sessionToken: owner, guildId: other },
    { sessionToken: 'unknown', guildId },
  ];
  expect((await person.client.checkSessions({ sessions })).roles).toEqual(['viewer', '', 'owner', '']);
  clock.advance(12 * HOUR_MS - 1_000);
  expect((await person.client.checkSessions({ sessions })).roles).toEqual(['viewer', '', 'owner', '']);
  clock.advance(2_000);
  expect((await person.client.checkSessions({ sessions })).roles).toEqual(['', '', '', '']);
});

test('at most 1,000 sessions are checked in one call', async () => {
  const sessions = Array.from({ length: 1_001 }, () => ({ sessionToken: 'x', guildId: newGuild() }));
  await expect(person.client.checkSessions({ sessions })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
});

test('a person sees and ends only their own sessions', async () => {
  const guildId = newGuild();
  const [mine, others] = [await person.signIn(guildId), await person.signIn(guildId)];
  const { sessions } = await person.client.listSessions({ caller: callerOf(mine) });
  expect(sessions).toMatchObject([{ isCurrent: true, provider: 'link', address: ADDRESS, userAgent: 'a browser' }]);
  const { sessionId } = await getSession(others);
  expect(sessions.map(({ id }) => id)).not.toContain(sessionId);
  const end = person.client.endSessions({ caller: callerOf(mine), sessionId, all: false });
  expect(await end).toEqual({ ended: 0 });
  expect(await person.client.endSessions({ caller: callerOf(mine), sessionId: '', all: true })).toEqual({ ended: 1 });
  await expect(getSession(others)).resolves.toMatchObject({ sessionId });
});

test('the token of a session is stored only as its hash, and no log line has it', async () => {
  const token = await person.signIn(newGuild());
  await getSession(token);
  const rows = await databaseRows<{ row: string }>(
    database.url,
    'SELECT to_jsonb(s)::text AS row FROM auth.sessions s',
  );
  expect(rows.length).toBeGreaterThan(0);
  const hex = Buffer.from(token).toString('hex');
  expect(rows.filter(({ row }) => row.includes(token) || row.includes(hex))).toEqual([]);
  expect(auth.log.filter((line) => line.includes(token))).toEqual([]);
});

test('the time of the last use is written at most once a minute', async () => {
  const guildId = newGuild();
  const token = await person.signIn(guildId);
  const usedAt = async () => (await person.client.listSessions({ caller: callerOf(token) })).sessions[0]?.usedAt ?? 0;
  const signedInAt = await usedAt();
  clock.advance(59_000);
  await sign(token, guildId);
  expect(await usedAt()).toBe(signedInAt);
  clock.advance(1_000);
  await sign(token, guildId);
  expect(await usedAt()).toBe(signedInAt + 60);
});

test('a suspended guild is open to nobody, and is not listed', async () => {
  const guildId = newGuild();
  const token = await person.signIn(guildId);
  await auth.admin.suspendGuild({ guildId, actor: '' });
  await expect(sign(token, guildId)).rejects.toMatchObject({ code: 'ROLE_TOO_LOW' });
  expect((await getSession(token)).guilds).toEqual([]);
  await auth.admin.resumeGuild({ guildId, actor: '' });
  await expect(sign(token, guildId)).resolves.toMatchObject({ role: 'owner' });
});
