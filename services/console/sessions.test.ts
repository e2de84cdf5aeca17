import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser, ConsoleFixture, GUILD, OTHER_GUILD, sessionTokenIn } from './fixture.ts';

let system: ConsoleFixture;
let owner: Browser;

beforeAll(async () => {
  system = await ConsoleFixture.start();
  owner = await system.signIn();
});
afterAll(() => system.stop());

const useLink = (token: string, cookie?: string) =>
  new Browser(system.url).send('/console/sign-in/link', { method: 'POST', body: { token }, headers: { cookie } });

test('a one-time link signs one person in, once, and leads to its guild', async () => {
  const token = await system.createLink();
  const first = await useLink(token);
  expect(first.status).toBe(200);
  expect(first.json.data.return_to).toBe(`/guilds/${GUILD}`);
  const second = await useLink(token);
  expect(second.status).toBe(404);
  expect(second.headers['set-cookie']).toBeUndefined();
});

test('the session cookie is HttpOnly, Secure, SameSite=Lax, for this host only and all of its paths', async () => {
  const { headers } = await useLink(await system.createLink());
  const [cookie = ''] = headers['set-cookie'] ?? [];
  expect(cookie).toMatch(/^__Host-guild-console=[A-Za-z0-9]{43}; /);
  expect(cookie.split('; ').slice(1).sort()).toEqual([
    'HttpOnly',
    'Max-Age=604800',
    'Path=/',
    'SameSite=Lax',
    'Secure',
  ]);
});

test('a session cookie that was set before the sign-in is replaced, and never becomes the session (fixation)', async () => {
  const planted = 'A'.repeat(43);
  const response = await useLink(await system.createLink(), `__Host-guild-console=${planted}`);
  expect(sessionTokenIn(response)).not.toBe(planted);
  expect((await new Browser(system.url, planted).send('/console/session')).status).toBe(401);
});

test('signing in again ends the previous session of the browser', async () => {
  const earlier = await system.signIn();
  const response = await useLink(await system.createLink(), earlier.cookie);
  expect(sessionTokenIn(response)).not.toBe(earlier.token);
  await expect.poll(async () => (await earlier.send('/console/session')).status).toBe(401);
});

test.each([
  ['the header Authorization', '/console/session', (token: string) => ({ authorization: `Bearer ${token}` })],
  ['the header X-API-Key', '/console/session', (token: string) => ({ 'x-api-key': token })],
  ['another cookie', '/console/session', (token: string) => ({ cookie: `guild-console=${token}` })],
])('a session token in %s is not accepted', async (_place, path, headersOf) => {
  const { status, json } = await new Browser(system.url).send(path, { headers: headersOf(owner.token) });
  expect(status).toBe(401);
  expect(json.details.code).toBe('NOT_SIGNED_IN');
});

test('a session token in the URL or in a body is not accepted', async () => {
  const stranger = new Browser(system.url);
  expect((await stranger.send(`/console/session?token=${owner.token}`)).status).toBe(401);
  const body = { token: owner.token, session_token: owner.token };
  expect((await stranger.send('/console/sign-out', { method: 'POST', body })).status).toBe(401);
});

test('a request with the session cookie twice is not signed in, because the browser or somebody else may have set either', async () => {
  const other = await system.signIn();
  const cookie = `${owner.cookie}; ${other.cookie}`;
  expect((await new Browser(system.url).send('/console/session', { headers: { cookie } })).status).toBe(401);
});

test('a stolen session token is worthless after the person has signed out', async () => {
  const person = await system.signIn();
  const thief = new Browser(system.url, person.token);
  expect((await thief.send('/console/session')).status).toBe(200);
  const out = await person.send('/console/sign-out', { method: 'POST' });
  expect(out.json.data.ended).toBe(1);
  expect(out.headers['set-cookie']?.[0]).toContain('Max-Age=0');
  expect((await thief.send('/console/session')).status).toBe(401);
  expect((await thief.api(`/guilds/${GUILD}/usage`)).status).toBe(401);
});

test('a person sees the own sessions with address and browser, and ends one of them', async () => {
  const person = await system.signIn();
  const { json } = await person.send('/console/sessions', { headers: { 'user-agent': 'A browser' } });
  expect(json.data.sessions).toMatchObject([{ is_current: true, provider: 'link', address: '127.0.0.1' }]);
  const { id } = json.data.sessions[0];
  expect((await person.send(`/console/sessions/${id}`, { method: 'DELETE' })).json.data.ended).toBe(1);
  expect((await person.send('/console/session')).status).toBe(401);
});

test('a person without a role in a guild reaches nothing of it: no keys, no routes, no events', async () => {
  await system.network.createKey({ guildId: OTHER_GUILD });
  const responses = await Promise.all([
    owner.send(`/console/guilds/${OTHER_GUILD}/keys`),
    owner.send(`/console/guilds/${OTHER_GUILD}/audit`),
    owner.api(`/guilds/${OTHER_GUILD}/usage`, { guildId: OTHER_GUILD }),
    owner.send(`/console/guilds/${OTHER_GUILD}/events`),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  expect(responses.map(({ json }) => json.details.code)).toEqual(Array(4).fill('ROLE_TOO_LOW'));
});

test('a viewer reads, and gets ROLE_TOO_LOW for a ban and for keys', async () => {
  const viewer = await system.signIn('viewer');
  expect((await viewer.api(`/moderation/${GUILD}/game/bans/active`)).status).toBe(200);
  const ban = await viewer.api(`/moderation/${GUILD}/game/ban`, { method: 'POST', body: { game_id: 1, reason: 'x' } });
  expect(ban.json.details.code).toBe('ROLE_TOO_LOW');
  expect((await viewer.send(`/console/guilds/${GUILD}/keys`)).json.details.code).toBe('ROLE_TOO_LOW');
});
