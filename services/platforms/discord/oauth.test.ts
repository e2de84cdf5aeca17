import { afterEach, beforeEach, expect, test } from 'vitest';
import { PlatformsFixture } from '../fixture.ts';
import type { OAuthTokens } from '../oauth/client.ts';
import type { DiscordOAuth } from './oauth.ts';

const MEMBER = '920000000000000004';
const REDIRECT = 'http://127.0.0.1:8090/console/sign-in/chat/callback';
const OWN_GUILDS = 'GET /api/v10/users/@me/guilds';
const TOKEN = 'POST /api/v10/oauth2/token';
const secrets = { state: 's'.repeat(43), nonce: 'n'.repeat(43), verifier: 'v'.repeat(43) };

let fixture: PlatformsFixture;
let oauth: DiscordOAuth;

beforeEach(async () => {
  fixture = await PlatformsFixture.start();
  oauth = fixture.discordOAuth(REDIRECT);
});
afterEach(() => fixture.stop());

/** Returns the query of the callback with which a person comes back. */
async function allow(login = MEMBER): Promise<string> {
  const url = await oauth.authorizationUrl(secrets);
  const response = await fetch(`${url}&login=${login}`, { redirect: 'manual' });
  return new URL(response.headers.get('location') ?? '').search.slice(1);
}

const tokens = async (): Promise<OAuthTokens> => oauth.exchange(await allow(), secrets);
const control = (path: string) => fetch(fixture.chat.url + path, { method: 'DELETE' });

/** A world in which the member is in this many guilds, and owns the last one. */
const guilds = (count: number) => ({
  chat: {
    guilds: Array.from({ length: count }, (_, index) => ({
      id: String(900000000000000001n + BigInt(index)),
      name: `Guild ${index}`,
      owner_id: index === count - 1 ? MEMBER : null,
      members: [{ id: MEMBER, username: 'dmitri' }],
      bot: { id: '930000000000000001' },
    })),
  },
});

test('the account has the name that the person chose, or otherwise the username', async () => {
  expect(await oauth.account((await tokens()).access)).toEqual({
    id: MEMBER,
    username: 'dmitri',
    name: 'dmitri',
  });
  const esther = await oauth.exchange(await allow('920000000000000005'), secrets);
  expect(await oauth.account(esther.access)).toEqual({
    id: '920000000000000005',
    username: 'esther',
    name: 'Esther',
  });
});

test.each([
  [199, 1],
  [200, 2],
  [450, 3],
])('%i guilds are read in %i pages', async (count, pages) => {
  await fixture.chat.putWorld(guilds(count));
  const found = await oauth.guilds(await tokens());
  expect(found?.guilds).toHaveLength(count);
  expect(found?.guilds.at(-1)).toMatchObject({ isOwner: true, isManager: true });
  expect(found?.guilds[0]).toEqual({ id: '900000000000000001', name: 'Guild 0', isOwner: false, isManager: false });
  expect((await fixture.chat.calls())[OWN_GUILDS]).toBe(pages);
});

test.each([
  ['ADMINISTRATOR', 3n, true],
  ['MANAGE_GUILD', 5n, true],
  ['MANAGE_ROLES', 28n, false],
  ['a permission above 32 bits', 40n, false],
])('%s of a role makes a person a manager or not', async (_name, bit, isManager) => {
  const role = { id: '910000000000000001', name: 'Role', position: 1, permissions: String(1n << bit) };
  const [guild] = guilds(2).chat.guilds;
  const member = { id: MEMBER, username: 'dmitri', roles: [role.id] };
  await fixture.chat.putWorld({ chat: { guilds: [{ ...guild, roles: [role], members: [member] }] } });
  expect((await oauth.guilds(await tokens()))?.guilds).toMatchObject([{ isOwner: false, isManager }]);
});

test('a token that expires within a minute is renewed first, and the new tokens are returned', async () => {
  const first = await tokens();
  fixture.clock.advance((first.expiresAt ?? 0) - fixture.clock.now() - 60_000);
  const found = await oauth.guilds(first);
  expect(found?.tokens.access).not.toBe(first.access);
  expect(found?.tokens.refresh).not.toBe(first.refresh);
  expect(found?.tokens.expiresAt).toBe(fixture.clock.now() + 604_800_000);
  expect((await fixture.chat.calls())[TOKEN]).toBe(2);
});

test('a token that the platform ended early is renewed once', async () => {
  const first = await tokens();
  await control('/__access_tokens');
  const found = await oauth.guilds(first);
  expect(found?.guilds).toHaveLength(1);
  expect(found?.tokens.access).not.toBe(first.access);
});

test('a withdrawn access is undefined, and neither it nor a 401 says that our own credentials are invalid', async () => {
  const given = await tokens();
  await control(`/__grants?person=${MEMBER}`);
  expect(await oauth.guilds(given)).toBeUndefined();
  const text = await fixture.metrics.registry.getSingleMetricAsString('platform_credentials_rejected');
  expect(text).toContain('platform_credentials_rejected{host="chat-oauth"} 0');
});

test('a refresh token without an answer of the platform is a server error, not a withdrawn access', async () => {
  const given = await tokens();
  await control('/__access_tokens');
  await fixture.chat.fault('/oauth2/token', { status: 503, times: 1 });
  await expect(oauth.guilds(given)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test('a wrong client secret is a server error, and shows that our credentials are invalid', async () => {
  const other = fixture.discordOAuth(REDIRECT, { CHAT_OAUTH_CLIENT_SECRET: 'wrong' });
  await expect(other.exchange(await allow(), secrets)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  const text = await fixture.metrics.registry.getSingleMetricAsString('platform_credentials_rejected');
  expect(text).toContain('platform_credentials_rejected{host="chat-oauth"} 1');
});

test('a 429 for one person does not delay the calls for another', async () => {
  const [one, other] = [await tokens(), await oauth.exchange(await allow('920000000000000001'), secrets)];
  const limited = { status: 429, retry_after: 60, body: { message: 'slow', retry_after: 60, global: false }, times: 1 };
  await fixture.chat.fault('/users/@me/guilds', limited);
  await expect(oauth.guilds(one)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 60 });
  await expect(oauth.guilds(one)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect((await oauth.guilds(other))?.guilds).toHaveLength(1);
  expect((await fixture.chat.calls())[OWN_GUILDS]).toBe(2);
});

test('a platform that pages without end is read five times at most', async () => {
  const page = Array.from({ length: 200 }, (_, index) => ({
    id: String(900000000000000001n + BigInt(index)),
    name: 'Harbor',
    owner: false,
    permissions: '0',
  }));
  const given = await tokens();
  await fixture.chat.fault('/users/@me/guilds', { status: 200, body: page });
  expect((await oauth.guilds(given))?.guilds).toHaveLength(1_000);
});
