import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GuildRole } from '#proto/console/roles.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { ADDRESS, callerOf, newGuild } from './fixtures/console.ts';
import { MEMBER, SignInFixture, STRANGER } from './fixtures/sign-in.ts';

const ROLE_TOO_LOW = { code: 'ROLE_TOO_LOW' };

let fixture: SignInFixture;

beforeAll(async () => {
  fixture = await SignInFixture.start();
});
afterAll(() => fixture.stop());

const client = () => fixture.console.client;
const as = async (guildId: string, role: GuildRole) => callerOf(await fixture.console.signIn(guildId, role));
const rolesOf = async (token: string) => (await fixture.session(token)).guilds;

test('a person who was given a role opens the guild with it, and no more after it was removed', async () => {
  const guildId = newGuild();
  const caller = await as(guildId, 'admin');
  const { sessionToken } = await fixture.signIn('chat', STRANGER);
  expect(await rolesOf(sessionToken)).toEqual([]);
  const { access } = await client().setAccess({ caller, guildId, chatId: STRANGER, role: 'moderator' });
  const { person } = await client().getSession({ caller });
  expect(access).toEqual({
    guildId,
    chatId: STRANGER,
    role: 'moderator',
    givenBy: person?.id,
    givenAt: expect.any(Number),
  });
  expect(await rolesOf(sessionToken)).toMatchObject([{ guildId, role: 'moderator' }]);
  expect((await client().listAccess({ caller, guildId })).access).toEqual([access]);
  await client().removeAccess({ caller, guildId, chatId: STRANGER });
  expect(await rolesOf(sessionToken)).toEqual([]);
});

test('nobody gives a role above their own', async () => {
  const guildId = newGuild();
  const caller = await as(guildId, 'admin');
  await expect(client().setAccess({ caller, guildId, chatId: MEMBER, role: 'owner' })).rejects.toMatchObject(
    ROLE_TOO_LOW,
  );
  expect((await client().listAccess({ caller, guildId })).access).toEqual([]);
});

test('nobody changes or removes the role of somebody above them', async () => {
  const guildId = newGuild();
  const [owner, admin] = [await as(guildId, 'owner'), await as(guildId, 'admin')];
  await client().setAccess({ caller: owner, guildId, chatId: MEMBER, role: 'owner' });
  const change = client().setAccess({ caller: admin, guildId, chatId: MEMBER, role: 'viewer' });
  await expect(change).rejects.toMatchObject(ROLE_TOO_LOW);
  const removal = client().removeAccess({ caller: admin, guildId, chatId: MEMBER });
  await expect(removal).rejects.toMatchObject(ROLE_TOO_LOW);
  expect((await client().listAccess({ caller: admin, guildId })).access).toMatchObject([{ role: 'owner' }]);
});

test('nobody erases a person above them, which would remove that role', async () => {
  const guildId = newGuild();
  const [owner, admin] = [await as(guildId, 'owner'), await as(guildId, 'admin')];
  await client().setAccess({ caller: owner, guildId, chatId: MEMBER, role: 'owner' });
  for (const dryRun of [true, false]) {
    const erasure = client().erasePerson({ caller: admin, guildId, chatId: MEMBER, gameId: 7001, dryRun });
    await expect(erasure).rejects.toMatchObject(ROLE_TOO_LOW);
  }
  expect((await client().listAccess({ caller: admin, guildId })).access).toMatchObject([{ role: 'owner' }]);
});

test('roles that concurrent requests give stay below the maximum of a guild', async () => {
  const guildId = newGuild();
  const caller = await as(guildId, 'admin');
  await databaseRows(
    fixture.databaseUrl,
    `INSERT INTO auth.guild_access (guild_id, chat_id, role, given_at)
     SELECT '${guildId}', (920000000000100000 + n)::text, 'viewer', now() FROM generate_series(1, 198) n`,
  );
  const chatIds = Array.from({ length: 6 }, (_, index) => String(920000000000200000n + BigInt(index)));
  const given = await Promise.allSettled(
    chatIds.map((chatId) => client().setAccess({ caller, guildId, chatId, role: 'viewer' })),
  );
  const rejected = given.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  expect(rejected).toMatchObject(Array.from({ length: 4 }, () => ({ code: 'CONFLICT' })));
});

test('changes of access are in the audit with the person, before and after, address and request ID', async () => {
  const guildId = newGuild();
  const caller = await as(guildId, 'owner');
  const { person } = await client().getSession({ caller });
  await client().setAccess({ caller, guildId, chatId: MEMBER, role: 'viewer' });
  await client().setAccess({ caller, guildId, chatId: MEMBER, role: 'admin' });
  // Nothing changes, so nothing is recorded.
  await client().setAccess({ caller, guildId, chatId: MEMBER, role: 'admin' });
  await client().removeAccess({ caller, guildId, chatId: MEMBER });
  const { entries } = await client().listGuildAudit({ caller, guildId, limit: 0, cursor: '' });
  const who = { person: { id: person?.id, role: 'owner' }, address: ADDRESS, request_id: 'request-1', chat_id: MEMBER };
  const described = entries.map(({ actor, action, details }) => [actor, action, JSON.parse(details) as object]);
  expect(described.slice(0, 3)).toEqual([
    ['console', 'remove_access', { ...who, before: { role: 'admin' }, after: null }],
    ['console', 'set_access', { ...who, before: { role: 'viewer' }, after: { role: 'admin' } }],
    ['console', 'set_access', { ...who, before: null, after: { role: 'viewer' } }],
  ]);
  expect(described).toHaveLength(5);
});
