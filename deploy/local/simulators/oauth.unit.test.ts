import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Simulators, startSimulators } from './main.ts';
import { call } from './test-client.ts';

const verifier = 'v'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');
const redirect = 'http://127.0.0.1:8090/callback';
const chat = { client: '940000000000000001', secret: 'chat-client-secret', login: '920000000000000012' };
const oidc = { client: 'guild-data', secret: 'openid-client-secret', login: 'olga' };

let simulators: Simulators;
let now = 1_700_000_000_000;

beforeEach(async () => {
  simulators = await startSimulators({ clock: () => now });
});
afterEach(() => simulators.stop());

const providers = () => [
  { ...chat, page: `${simulators.chat}/oauth2/authorize`, token: `${simulators.chat}/api/v10/oauth2/token` },
  { ...oidc, page: `${simulators.oidc}/authorize`, token: `${simulators.oidc}/token` },
];
type Provider = ReturnType<typeof providers>[number];

const asked = ({ client }: Provider, more: Record<string, string> = {}) =>
  new URLSearchParams({
    response_type: 'code',
    client_id: client,
    redirect_uri: redirect,
    state: 'state',
    scope: 'identify guilds offline_access',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  }).toString();

async function back(provider: Provider, more: Record<string, string> = {}): Promise<URLSearchParams> {
  const query = asked(provider, { login: provider.login, ...more });
  const response = await fetch(`${provider.page}?${query}`, { redirect: 'manual' });
  expect(response.status).toBe(302);
  return new URL(response.headers.get('location') ?? '').searchParams;
}

async function exchange({ client, secret, token }: Provider, form: Record<string, string>) {
  const authorization = `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}`;
  const body = new URLSearchParams({ grant_type: 'authorization_code', redirect_uri: redirect, ...form });
  const response = await fetch(token, { method: 'POST', headers: { authorization }, body });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

test('the page shows every person as a link that signs them in, and one that cancels', async () => {
  for (const provider of providers()) {
    const response = await fetch(`${provider.page}?${asked(provider)}`);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const html = await response.text();
    const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, href]) => (href ?? '').replaceAll('&amp;', '&'));
    expect(links.map((link) => new URLSearchParams(link.slice(1)).get('login'))).toEqual(
      expect.arrayContaining([provider.login, 'cancel']),
    );
    const chosen = links.find((link) => link.includes(`login=${provider.login}`));
    const sent = await fetch(provider.page + chosen, { redirect: 'manual' });
    expect(sent.headers.get('location')).toContain('code=');
  }
});

test('names in the page are text, not HTML', async () => {
  const world = structuredClone(simulators.world.data);
  world.chat.users = [{ id: '920000000000000021', username: 'x', global_name: '<script>alert(1)</script>' }];
  simulators.world.replace(world);
  const [provider] = providers();
  if (!provider) throw new Error('no provider');
  expect(await (await fetch(`${provider.page}?${asked(provider)}`)).text()).not.toContain('<script>');
});

test('a code works once, for a minute, with its verifier, its redirect URI and the client secret', async () => {
  for (const provider of providers()) {
    const code = async () => (await back(provider)).get('code') ?? '';
    const good = { code: await code(), code_verifier: verifier };
    expect((await exchange(provider, good)).status).toBe(200);
    expect(await exchange(provider, good)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const wrongs: Record<string, string>[] = [
      { code_verifier: 'w'.repeat(43) },
      { redirect_uri: 'http://127.0.0.1:1/' },
    ];
    for (const wrong of wrongs) {
      const form = { code: await code(), code_verifier: verifier, ...wrong };
      expect(await exchange(provider, form)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    }
    const late = { code: await code(), code_verifier: verifier };
    now += 60_000;
    expect(await exchange(provider, late)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const form = { code: await code(), code_verifier: verifier };
    const denied = await exchange({ ...provider, secret: 'wrong' }, form);
    expect(denied).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  }
});

test('the browser comes back with state and issuer; a cancelled sign-in with access_denied', async () => {
  for (const provider of providers()) {
    const query = await back(provider);
    expect([query.get('state'), query.get('iss')]).toEqual(['state', new URL(provider.page).origin]);
    expect((await back(provider, { login: 'cancel' })).get('error')).toBe('access_denied');
  }
});

test('an unknown client is not redirected', async () => {
  for (const provider of providers()) {
    const query = asked({ ...provider, client: 'unknown' });
    expect((await fetch(`${provider.page}?${query}`, { redirect: 'manual' })).status).toBe(400);
  }
});

test('a person’s token shows their account and guilds, and nothing that only the bot may read', async () => {
  const [provider] = providers();
  if (!provider) throw new Error('no provider');
  const { body } = await exchange(provider, {
    code: (await back(provider)).get('code') ?? '',
    code_verifier: verifier,
  });
  const headers = { authorization: `Bearer ${body['access_token']}` };
  const get = (path: string) => call(`${simulators.chat}/api/v10${path}`, { headers });
  expect((await get('/users/@me')).body).toMatchObject({ id: chat.login, username: 'lena', bot: false });
  expect((await get('/users/@me/guilds')).body).toMatchObject([{ id: '900000000000000001', owner: true }]);
  expect((await get('/guilds/900000000000000001/roles')).status).toBe(401);
  const bot = { headers: { authorization: 'Bot token' } };
  expect((await call(`${simulators.chat}/api/v10/users/@me/guilds`, bot)).status).toBe(401);
});

test('discovery describes the endpoints under the address that was asked', async () => {
  const { body } = await call(`${simulators.oidc}/.well-known/openid-configuration`);
  expect(body).toMatchObject({ issuer: simulators.oidc, token_endpoint: `${simulators.oidc}/token` });
  expect((await call(`${simulators.oidc}/jwks`)).body).toMatchObject({ keys: [{ kty: 'EC', use: 'sig' }] });
});

test('issuer and the address for browsers can be given, as containers need it', async () => {
  const given = { oidcIssuer: 'http://simulators:8085', oidcBrowserUrl: 'http://127.0.0.1:8085' };
  const contained = await startSimulators(given);
  const { body } = await call(`${contained.oidc}/.well-known/openid-configuration`);
  await contained.stop();
  expect(body).toMatchObject({
    issuer: 'http://simulators:8085',
    authorization_endpoint: 'http://127.0.0.1:8085/authorize',
    token_endpoint: 'http://simulators:8085/token',
  });
});
