import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OPERATOR, OWNER, type ProviderName, SignInFixture } from './fixtures/sign-in.ts';

// Every test has its own service, so that no circuit breaker or cache of another test is in use.
let fixture: SignInFixture;

beforeEach(async () => {
  fixture = await SignInFixture.start();
});
afterEach(() => fixture.stop());

const PROVIDERS: [ProviderName, string][] = [
  ['chat', OWNER],
  ['oidc', OPERATOR],
];
const FAULTS: [string, Record<string, unknown>, string][] = [
  ['responds with 500', { status: 500 }, 'PLATFORM_ERROR'],
  ['responds with 503', { status: 503 }, 'PLATFORM_ERROR'],
  ['responds with 401', { status: 401 }, 'PLATFORM_ERROR'],
  ['responds with 403', { status: 403 }, 'PLATFORM_ERROR'],
  ['limits our rate', { status: 429, retry_after: 2 }, 'UNAVAILABLE'],
  ['resets the connection', { reset: true }, 'PLATFORM_ERROR'],
  ['truncates the response', { truncate: true }, 'PLATFORM_ERROR'],
  ['sends invalid JSON', { broken: true }, 'PLATFORM_ERROR'],
  ['redirects', { status: 302 }, 'PLATFORM_ERROR'],
  ['sends no token', { status: 200, body: {} }, 'PLATFORM_ERROR'],
];

describe.each(PROVIDERS)('%s', (provider, login) => {
  test.each(FAULTS)(
    'a token endpoint that %s fails the sign-in with a server error, and the next one succeeds',
    async (_what, fault, code) => {
      const started = await fixture.begin(provider);
      const query = await fixture.choose(started, login);
      await fixture.fault(provider, '/token', { ...fault, times: 1 });
      await expect(fixture.finish(started, query)).rejects.toMatchObject({ code });
      fixture.clock.advance(3_000);
      expect((await fixture.signIn(provider, login)).sessionToken).toHaveLength(43);
    },
  );

  test('a token endpoint that is too slow is a TIMEOUT, not a rejection of the person', async () => {
    const started = await fixture.begin(provider);
    const query = await fixture.choose(started, login);
    await fixture.fault(provider, '/token', { delay_ms: 60_000, times: 1 });
    await expect(fixture.finish(started, query)).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/^The (?:chat platform|OpenID provider) took too long$/) as string,
    });
  });

  test('a provider that keeps failing is not called any more for a while, and used again when it recovers', async () => {
    await fixture.signIn(provider, login);
    await fixture.fault(provider, '/token', { status: 500 });
    await vi.waitUntil(
      async () => {
        const started = await fixture.begin(provider);
        const query = await fixture.choose(started, login);
        const error = await fixture.finish(started, query).catch((thrown: { code: string }) => thrown);
        return 'code' in error && error.code === 'UNAVAILABLE';
      },
      { timeout: 20_000, interval: 10 },
    );
    await fixture.restore();
    const recovered = () => fixture.signIn(provider, login).catch(() => undefined);
    expect(await vi.waitUntil(recovered, { timeout: 20_000 })).toMatchObject({ returnTo: '/' });
  });
});

test.each([
  ['/users/@me', { status: 500 }, 'PLATFORM_ERROR'],
  ['/users/@me/guilds', { status: 503 }, 'PLATFORM_ERROR'],
  ['/users/@me/guilds', { status: 401 }, 'PLATFORM_ERROR'],
  ['/users/@me/guilds', { status: 200, body: [{ id: 1 }] }, 'PLATFORM_ERROR'],
])('a chat platform whose %s fails (%o) creates no session without roles', async (path, fault, code) => {
  await fixture.fault('chat', path, fault);
  await expect(fixture.signIn('chat', OWNER)).rejects.toMatchObject({ code });
});

test('auth starts and signs persons in with the chat platform while the OpenID provider is down', async () => {
  await fixture.stopAuth();
  await fixture.startAuth({ OIDC_ISSUER: 'http://127.0.0.1:1' });
  expect((await fixture.signIn('chat', OWNER)).sessionToken).toHaveLength(43);
  await expect(fixture.begin('oidc')).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test('discovery that names another issuer is a fault of the provider, and is read again at the next sign-in', async () => {
  await fixture.fault('oidc', '/.well-known/', { status: 200, body: { issuer: 'https://attacker.example' }, times: 1 });
  await expect(fixture.begin('oidc')).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  expect((await fixture.signIn('oidc', OPERATOR)).sessionToken).toHaveLength(43);
});

test('signing keys that cannot be read fail the sign-in with a server error', async () => {
  await fixture.fault('oidc', '/jwks', { status: 500, times: 1 });
  await expect(fixture.signIn('oidc', OPERATOR)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  expect((await fixture.signIn('oidc', OPERATOR)).sessionToken).toHaveLength(43);
});

test('the configuration of the provider is read once an hour, and the last one is used if that fails', async () => {
  await fixture.signIn('oidc', OPERATOR);
  await fixture.fault('oidc', '/.well-known/', { status: 500 });
  await fixture.signIn('oidc', OPERATOR);
  fixture.clock.advance(3_600_000);
  expect((await fixture.signIn('oidc', OPERATOR)).sessionToken).toHaveLength(43);
});
