import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  ADMINISTRATOR,
  GUILD,
  MANAGER,
  MEMBER,
  OPERATOR,
  OWNER,
  type ProviderName,
  SignInFixture,
  STAFF,
  STRANGER,
} from './fixtures/sign-in.ts';

let fixture: SignInFixture;

beforeAll(async () => {
  fixture = await SignInFixture.start();
});
afterEach(() => fixture.restore());
afterAll(() => fixture.stop());

const PROVIDERS: [ProviderName, string][] = [
  ['chat', OWNER],
  ['oidc', OPERATOR],
];
const rejected = { code: 'INVALID_REQUEST' };

test('the configured providers are offered with their labels', async () => {
  const { providers } = await fixture.console.client.listProviders({});
  expect(providers).toEqual([
    { name: 'chat', label: 'Discord' },
    { name: 'oidc', label: 'Staff accounts' },
  ]);
});

test.each([
  ['the owner of a guild', OWNER, 'lena', [{ guildId: GUILD, guildName: 'Harbor', role: 'owner' }]],
  ['a person with ADMINISTRATOR', ADMINISTRATOR, 'jonas', [{ guildId: GUILD, guildName: 'Harbor', role: 'admin' }]],
  ['a person with MANAGE_GUILD', MANAGER, 'bruno', [{ guildId: GUILD, guildName: 'Harbor', role: 'admin' }]],
  ['a plain member', MEMBER, 'dmitri', []],
  ['a person of no guild', STRANGER, 'Nora', []],
])('%s signs in with a chat account and has the role of the chat platform', async (_who, id, name, guilds) => {
  const { sessionToken } = await fixture.signIn('chat', id);
  const session = await fixture.session(sessionToken);
  expect(session).toMatchObject({ person: { id, name }, guilds, isOperator: false });
});

test.each([
  [OPERATOR, 'Olga Operator', true],
  [STAFF, 'Sam Staff', false],
])(
  '%s signs in at the OpenID provider, and is an operator only if the claim says so',
  async (sub, name, isOperator) => {
    const { sessionToken } = await fixture.signIn('oidc', sub);
    expect(await fixture.session(sessionToken)).toMatchObject({ person: { id: `oidc:${sub}`, name }, isOperator });
  },
);

test('the operator claim is also found in userinfo if the ID token lacks it', async () => {
  await fixture.control('oidc', 'PUT', '/__id_token', { claims: { groups: null } });
  const { sessionToken } = await fixture.signIn('oidc', OPERATOR);
  expect(await fixture.session(sessionToken)).toMatchObject({ isOperator: true });
});

test.each(PROVIDERS)(
  '%s: the browser is sent with state and an S256 challenge, and the secrets differ each time',
  async (provider) => {
    const [one, two] = [await fixture.begin(provider), await fixture.begin(provider)];
    const [first, second] = [one, two].map(({ redirectUrl }) => new URL(redirectUrl).searchParams);
    expect(Object.fromEntries(first ?? [])).toMatchObject({
      response_type: 'code',
      redirect_uri: `http://127.0.0.1:8090/console/sign-in/${provider}/callback`,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
      state: expect.stringMatching(/^[\w-]{43}$/) as string,
    });
    for (const name of ['state', 'code_challenge']) expect(first?.get(name)).not.toBe(second?.get(name));
    expect(one.browserSecret).not.toBe(two.browserSecret);
    expect(one.redirectUrl).not.toContain(one.browserSecret);
  },
);

test('a new sign-in always creates a new session and leaves the earlier one as it was', async () => {
  const first = await fixture.signIn('chat', OWNER);
  const second = await fixture.signIn('chat', OWNER);
  expect(second.sessionToken).not.toBe(first.sessionToken);
  const sessions = [await fixture.session(first.sessionToken), await fixture.session(second.sessionToken)];
  expect(sessions[0]?.sessionId).not.toBe(sessions[1]?.sessionId);
});

test('the browser returns to the page that it asked for, and to the first page if that is of another site', async () => {
  expect(await fixture.signIn('chat', OWNER, `/guilds/${GUILD}/keys?page=2#new`)).toMatchObject({
    returnTo: `/guilds/${GUILD}/keys?page=2#new`,
  });
  expect(await fixture.signIn('chat', OWNER, '//evil.example')).toMatchObject({ returnTo: '/' });
});

test.each(PROVIDERS)(
  '%s: a sign-in that the person cancels says so, and cannot be completed afterwards',
  async (provider, login) => {
    const started = await fixture.begin(provider);
    const cancelled = await fixture.choose(started, 'cancel');
    expect(cancelled.get('error')).toBe('access_denied');
    await expect(fixture.finish(started, cancelled)).rejects.toMatchObject({ code: 'NOT_APPLICABLE' });
    const query = await fixture.choose(started, login);
    await expect(fixture.finish(started, query)).rejects.toMatchObject(rejected);
  },
);

test.each([
  ['unknown', (query: URLSearchParams) => query.set('state', 'A'.repeat(43))],
  ['missing', (query: URLSearchParams) => query.delete('state')],
  ['given twice', (query: URLSearchParams) => query.append('state', 'A'.repeat(43))],
])('a callback whose state is %s is rejected', async (_what, change) => {
  const started = await fixture.begin('chat');
  const query = await fixture.choose(started, OWNER);
  change(query);
  await expect(fixture.finish(started, query)).rejects.toMatchObject(rejected);
});

test('a state works once, also for concurrent callbacks', async () => {
  const started = await fixture.begin('chat');
  const query = await fixture.choose(started, OWNER);
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => fixture.finish(started, query)));
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', ...Array<string>(4).fill('rejected')]);
  await expect(fixture.finish(started, query)).rejects.toMatchObject(rejected);
});

test('a state expires after ten minutes', async () => {
  const [early, late] = [await fixture.begin('chat'), await fixture.begin('chat')];
  const queries = [await fixture.choose(early, OWNER), await fixture.choose(late, OWNER)];
  fixture.clock.advance(599_000);
  expect(await fixture.finish(early, queries[0] ?? '')).toMatchObject({ returnTo: '/' });
  fixture.clock.advance(1_000);
  await expect(fixture.finish(late, queries[1] ?? '')).rejects.toMatchObject(rejected);
});

test.each([
  ['without the cookie', ''],
  ['with a made-up cookie', 'B'.repeat(43)],
])(
  'the callback in a browser %s is rejected, and the browser that began can still complete it',
  async (_what, secret) => {
    const started = await fixture.begin('chat');
    const query = await fixture.choose(started, OWNER);
    await expect(fixture.finish({ ...started, browserSecret: secret }, query)).rejects.toMatchObject(rejected);
    expect((await fixture.finish(started, query)).sessionToken).toHaveLength(43);
  },
);

test('the callback of a stranger’s sign-in is rejected in the browser of a victim who also began one', async () => {
  const [attacker, victim] = [await fixture.begin('chat'), await fixture.begin('chat')];
  const query = await fixture.choose(attacker, STRANGER);
  await expect(fixture.finish(victim, query)).rejects.toMatchObject(rejected);
});

test.each(PROVIDERS)(
  '%s: a code of another sign-in is rejected, because its PKCE challenge is another one',
  async (provider, login) => {
    const [stolen, own] = [await fixture.begin(provider), await fixture.begin(provider)];
    const code = (await fixture.choose(stolen, login)).get('code') ?? '';
    const query = await fixture.choose(own, login);
    query.set('code', code);
    await expect(fixture.finish(own, query)).rejects.toMatchObject(rejected);
  },
);

test.each(PROVIDERS)('%s: a code that was used before is rejected', async (provider, login) => {
  const [first, second] = [await fixture.begin(provider), await fixture.begin(provider)];
  const used = await fixture.choose(first, login);
  await fixture.finish(first, used);
  const query = await fixture.choose(second, login);
  query.set('code', used.get('code') ?? '');
  await expect(fixture.finish(second, query)).rejects.toMatchObject(rejected);
});

test.each(PROVIDERS)(
  '%s: a callback that names another issuer is rejected before the code is sent anywhere',
  async (provider, login) => {
    const started = await fixture.begin(provider);
    const query = await fixture.choose(started, login);
    query.set('iss', 'https://attacker.example');
    await fixture.fault(provider, 'token', { status: 500, times: 1 });
    await expect(fixture.finish(started, query)).rejects.toMatchObject(rejected);
  },
);

test.each<[string, (query: URLSearchParams) => void]>([
  ['no code', (query) => query.delete('code')],
  ['two codes', (query) => query.append('code', 'another')],
  ['an empty code', (query) => query.set('code', '')],
  ['a code of 4,097 characters', (query) => query.set('code', 'c'.repeat(4_097))],
  ['a code and an error', (query) => query.set('error', 'access_denied')],
  ['an ID token of the implicit flow', (query) => query.set('id_token', 'x.y.z')],
])('a callback with %s creates no session', async (_what, change) => {
  const started = await fixture.begin('oidc');
  const query = await fixture.choose(started, OPERATOR);
  change(query);
  await expect(fixture.finish(started, query)).rejects.toMatchObject({
    code: expect.stringMatching(/^(?:INVALID_REQUEST|PLATFORM_ERROR)$/) as string,
  });
});

test('a callback without an issuer is rejected if the provider always names it', async () => {
  const started = await fixture.begin('oidc');
  const query = await fixture.choose(started, OPERATOR);
  query.delete('iss');
  await expect(fixture.finish(started, query)).rejects.toMatchObject(rejected);
});

test.each(PROVIDERS)(
  'the state of %s is rejected at the callback address of the other provider',
  async (provider, login) => {
    const started = await fixture.begin(provider);
    const query = await fixture.choose(started, login);
    const other = provider === 'chat' ? 'oidc' : 'chat';
    await expect(fixture.finish({ ...started, provider: other }, query)).rejects.toMatchObject(rejected);
  },
);

test('a provider that is not configured is rejected', async () => {
  const request = { provider: 'other', returnTo: '/', address: '203.0.113.7' };
  await expect(fixture.console.client.startSignIn(request)).rejects.toMatchObject(rejected);
});

test.each([
  ['an IPv4 address', () => '203.0.113.99'],
  ['the addresses of an IPv6 /64', (index: number) => `2001:db8:0:1::${index}`],
])('%s can have begun at most 20 sign-ins: a further one replaces the oldest', async (_what, addressOf) => {
  const all = [];
  for (let index = 0; index < 21; index++) {
    all.push(await fixture.begin('chat', '/', addressOf(index)));
    fixture.clock.advance(1_000);
  }
  const [oldest, next] = [all[0], all[1]];
  if (!oldest || !next) throw new Error('nothing began');
  await expect(fixture.finish(oldest, await fixture.choose(oldest, OWNER))).rejects.toMatchObject(rejected);
  expect((await fixture.finish(next, await fixture.choose(next, OWNER))).sessionToken).toHaveLength(43);
  const other = await fixture.begin('chat', '/', '2001:db8:0:2::1');
  expect((await fixture.finish(other, await fixture.choose(other, OWNER))).sessionToken).toHaveLength(43);
});
