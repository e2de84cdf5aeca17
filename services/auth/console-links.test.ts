import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock, unixSeconds } from '#kit/clock.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { verifyPrincipal } from '#kit/security/principal.ts';
import { ROLE_SCOPES } from '#proto/console/roles.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { INTERNAL_SECRET, startTestAuth, type TestAuth } from '#test/system/auth.ts';
import { ADDRESS, callerOf, connectConsole, newGuild, type TestConsole } from './fixtures/console.ts';

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

const failed = (code: string) => expect.objectContaining({ code });

test('a one-time link signs a person in to its guild with its role', async () => {
  const guildId = newGuild();
  const sessionToken = await person.signIn(guildId, 'moderator');
  const session = await person.client.getSession({ caller: callerOf(sessionToken) });
  expect(session).toMatchObject({
    person: { id: expect.stringMatching(/^link:[0-9a-f-]{36}$/) },
    guilds: [{ guildId, role: 'moderator' }],
    isOperator: false,
    expiresAt: unixSeconds(clock.now()) + 12 * 3600,
  });
});

test('a request of a signed-in person gets a principal of the person, for exactly this request', async () => {
  const guildId = newGuild();
  const sessionToken = await person.signIn(guildId);
  const target = `/api/v1/guilds/${guildId}/roles?limit=5`;
  const signed = await person.client.signRequest({ caller: callerOf(sessionToken), guildId, method: 'GET', target });
  expect(signed).toMatchObject({ service: 'members', role: 'owner' });
  const ring = new SecretRing([INTERNAL_SECRET]);
  const request = { audience: 'members', method: 'GET', target };
  expect(verifyPrincipal(ring, signed.principal, request, clock.now())).toEqual({
    keyId: 'console',
    keyPrefix: 'console',
    person: { id: signed.personId, role: 'owner' },
    guildId,
    scopes: ROLE_SCOPES.owner,
    legacy: false,
    requestId: 'request-1',
    address: ADDRESS,
  });
  const other = { ...request, target: `${target}0` };
  expect(() => verifyPrincipal(ring, signed.principal, other, clock.now())).toThrow(failed('MISSING_API_KEY'));
});

test('the session of a person in one guild signs no request for another guild', async () => {
  const [guildId, other] = [newGuild(), newGuild()];
  await person.signIn(other);
  const caller = callerOf(await person.signIn(guildId));
  const sign = (asked: string, path: string) =>
    person.client.signRequest({ caller, guildId: asked, method: 'GET', target: `/api/v1${path}` });
  await expect(sign(other, `/guilds/${other}/roles`)).rejects.toEqual(failed('ROLE_TOO_LOW'));
  await expect(sign(guildId, `/guilds/${other}/roles`)).rejects.toEqual(failed('GUILD_MISMATCH'));
  await expect(sign(other, `/guilds/${guildId}/roles`)).rejects.toEqual(failed('GUILD_MISMATCH'));
});

const useLink = (linkToken: string) => person.client.useLink({ linkToken, address: ADDRESS, userAgent: 'a browser' });

test('of simultaneous uses of one link exactly one creates a session', async () => {
  const linkToken = await person.linkTo(newGuild());
  const uses = await Promise.allSettled(Array.from({ length: 8 }, () => useLink(linkToken)));
  const rejected = uses.flatMap((use) => (use.status === 'rejected' ? [use.reason as unknown] : []));
  expect(rejected).toEqual(Array.from({ length: 7 }, () => failed('NOT_FOUND')));
  const [count] = await databaseRows<{ rows: number }>(
    database.url,
    `SELECT count(*)::integer AS rows FROM auth.audit WHERE action = 'use_console_link' AND guild_id = '${linkToken.split('_')[0]}'`,
  );
  expect(count?.rows).toBe(1);
});

test('a link works for 10 minutes', async () => {
  const [first, second] = [await person.linkTo(newGuild()), await person.linkTo(newGuild())];
  clock.advance(599_000);
  await expect(useLink(first)).resolves.toMatchObject({ returnTo: expect.stringMatching(/^\/guilds\//) });
  clock.advance(1_000);
  await expect(useLink(second)).rejects.toEqual(failed('NOT_FOUND'));
});

test.each(['', 'x', '900000000000000001_', `900000000000000001_${'A'.repeat(43)}`, `1_${'A'.repeat(43)}`])(
  'the unknown link %j creates no session',
  async (linkToken) => {
    await expect(useLink(linkToken)).rejects.toEqual(failed('NOT_FOUND'));
  },
);

test('the link of one guild cannot be used for another', async () => {
  const linkToken = await person.linkTo(newGuild());
  const moved = `${newGuild()}${linkToken.slice(linkToken.indexOf('_'))}`;
  await expect(useLink(moved)).rejects.toEqual(failed('NOT_FOUND'));
});

test('the creation and the use of a link are in the audit of the guild, without its token', async () => {
  const guildId = newGuild();
  const sessionToken = await person.signIn(guildId, 'admin');
  const { entries } = await person.client.listGuildAudit({
    caller: callerOf(sessionToken),
    guildId,
    limit: 0,
    cursor: '',
  });
  const { person: own } = await person.client.getSession({ caller: callerOf(sessionToken) });
  expect(
    entries.map(({ actor, action, details }) => ({ actor, action, details: JSON.parse(details) as object })),
  ).toMatchObject([
    {
      actor: 'console',
      action: 'use_console_link',
      details: { person: { id: own?.id, role: 'admin' }, address: ADDRESS },
    },
    {
      actor: 'root',
      action: 'create_console_link',
      details: { role: 'admin', link_id: own?.id.slice('link:'.length) },
    },
  ]);
});
