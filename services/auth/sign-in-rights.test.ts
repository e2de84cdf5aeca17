import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { MANAGER, OPERATOR, OWNER, SignInFixture } from './fixtures/sign-in.ts';

let fixture: SignInFixture;

beforeAll(async () => {
  fixture = await SignInFixture.start();
});
afterEach(() => fixture.restore());
afterAll(() => fixture.stop());

const MINUTE_MS = 60_000;
const rolesOf = async (token: string) => (await fixture.session(token)).guilds.map(({ role }) => role);
const isOperator = async (token: string) => (await fixture.session(token)).isOperator;
const ended = { code: 'NOT_SIGNED_IN' };

test('a permission that was lost on the chat platform is lost here at the next reading, ten minutes later', async () => {
  const { sessionToken } = await fixture.signIn('chat', MANAGER);
  expect(await rolesOf(sessionToken)).toEqual(['admin']);
  fixture.changeWorld(({ chat }) => {
    for (const role of chat.guilds[0]?.roles ?? []) if (role.name === 'Captain') role.permissions = '0';
  });
  expect(await rolesOf(sessionToken)).toEqual(['admin']);
  fixture.clock.advance(10 * MINUTE_MS);
  expect(await rolesOf(sessionToken)).toEqual([]);
});

test('a person who left the guild an hour ago has no role in it', async () => {
  const { sessionToken } = await fixture.signIn('chat', MANAGER);
  fixture.changeWorld(({ chat }) => {
    for (const guild of chat.guilds) guild.members = guild.members.filter(({ id }) => id !== MANAGER);
    chat.users.push({ id: MANAGER, username: 'bruno', global_name: null });
  });
  fixture.clock.advance(60 * MINUTE_MS);
  expect(await rolesOf(sessionToken)).toEqual([]);
});

test('a guild that was handed over makes its new owner the owner, and the earlier one what the roles allow', async () => {
  const { sessionToken } = await fixture.signIn('chat', OWNER);
  expect(await rolesOf(sessionToken)).toEqual(['owner']);
  fixture.changeWorld(({ chat }) => {
    for (const guild of chat.guilds) guild.owner_id = MANAGER;
  });
  fixture.clock.advance(10 * MINUTE_MS);
  expect(await rolesOf(sessionToken)).toEqual(['admin']);
});

test('an operator whom the claim no longer names is no operator at the next reading', async () => {
  const { sessionToken } = await fixture.signIn('oidc', OPERATOR);
  expect(await isOperator(sessionToken)).toBe(true);
  fixture.changeWorld(({ openid }) => {
    for (const person of openid.persons) person.groups = [];
  });
  fixture.clock.advance(10 * MINUTE_MS);
  expect(await isOperator(sessionToken)).toBe(false);
});

test('rights are read again with userinfo if the ID token of a refresh lacks the claim', async () => {
  const { sessionToken } = await fixture.signIn('oidc', OPERATOR);
  await fixture.control('oidc', 'PUT', '/__id_token', { claims: { groups: null } });
  fixture.clock.advance(10 * MINUTE_MS);
  expect(await isOperator(sessionToken)).toBe(true);
});

test.each([
  ['chat', OWNER],
  ['oidc', OPERATOR],
] as const)('%s: access that the person withdrew at the provider ends the session', async (provider, login) => {
  const { sessionToken } = await fixture.signIn(provider, login);
  await fixture.control(provider, 'DELETE', `/__grants?person=${login}`);
  fixture.clock.advance(10 * MINUTE_MS);
  await expect(fixture.session(sessionToken)).rejects.toMatchObject(ended);
});

test.each([
  ['chat', OWNER],
  ['oidc', OPERATOR],
] as const)(
  '%s: an expired access token is renewed with the refresh token, again and again',
  async (provider, login) => {
    const { sessionToken } = await fixture.signIn(provider, login);
    for (let time = 0; time < 3; time++) {
      await fixture.control(provider, 'DELETE', '/__access_tokens');
      fixture.clock.advance(10 * MINUTE_MS);
      expect((await fixture.session(sessionToken)).person?.name).toBeTruthy();
    }
  },
);

test('an ID token of another person at a refresh does not give that person’s rights', async () => {
  const { sessionToken } = await fixture.signIn('oidc', 'sam');
  const claims = { sub: OPERATOR, groups: ['guild-data-operators'] };
  await fixture.control('oidc', 'PUT', '/__id_token', { claims });
  fixture.clock.advance(10 * MINUTE_MS);
  expect(await isOperator(sessionToken)).toBe(false);
});

test('while the provider does not respond the last rights are used for 30 minutes, then a server error is returned', async () => {
  const { sessionToken } = await fixture.signIn('chat', OWNER);
  await fixture.fault('chat', '/users/@me/guilds', { status: 503 });
  fixture.clock.advance(10 * MINUTE_MS);
  expect(await rolesOf(sessionToken)).toEqual(['owner']);
  fixture.clock.advance(21 * MINUTE_MS);
  await expect(fixture.session(sessionToken)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  await fixture.restore();
  fixture.clock.advance(MINUTE_MS);
  expect(await rolesOf(sessionToken)).toEqual(['owner']);
});
