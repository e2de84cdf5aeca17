import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendRaw } from '#test/network/raw-http.ts';
import { buildApp } from './build.ts';
import { type Browser, type BrowserResponse, ConsoleFixture, exchange, GUILD } from './fixture.ts';

let system: ConsoleFixture;
let owner: Browser;

beforeAll(async () => {
  await buildApp();
  system = await ConsoleFixture.start();
  owner = await system.signIn();
});
afterAll(() => system.stop());

const get = (path: string, headers: Record<string, string> = {}) => exchange(system.url + path, { headers });

function expectSecurityHeaders({ headers }: Pick<BrowserResponse, 'headers'>): void {
  expect(headers['content-security-policy']).toContain("default-src 'self'");
  expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
  expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
  expect(headers).toMatchObject({
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  });
  expect(headers['x-powered-by']).toBeUndefined();
}

test.each([
  ['a page', '/guilds/1/live', 200],
  ['the health check', '/healthz', 200],
  ['a missing session', '/console/session', 401],
  ['an unknown endpoint', '/console/nothing', 404],
  ['a missing asset', '/assets/nothing.js', 404],
  ['a forwarded request without a session', '/api/v1/whoami', 401],
  ['a redirect to a provider', '/console/sign-in/chat', 303],
  ['a rejected target', '/a%2fb', 400],
])(
  'the response to %s cannot be framed, sniffed or run other code (clickjacking, CSP)',
  async (_what, path, status) => {
    const response = await get(path);
    expect(response.status).toBe(status);
    expectSecurityHeaders(response);
  },
);

test('the response to bytes that are no HTTP has the security headers too', async () => {
  const response = await sendRaw(system.address, 'NONSENSE\n\n');
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(response).toContain("frame-ancestors 'none'");
});

test('responses with private data are never stored', async () => {
  const responses = [
    await owner.send('/console/session'),
    await owner.send(`/console/guilds/${GUILD}/keys`),
    await owner.api(`/guilds/${GUILD}/usage`),
    await get('/console/session'),
  ];
  expect(responses.map(({ headers }) => headers['cache-control'])).toEqual(Array(4).fill('no-store'));
});

test('every page is the same HTML, without inline script or style, and its assets are cached for ever', async () => {
  const [page, other] = [await get('/'), await get(`/guilds/${GUILD}/keys?x=1`)];
  expect(other.text).toBe(page.text);
  expect(page.headers['cache-control']).toBe('no-cache');
  expect(page.text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|https?:/);
  const [, script = ''] = /src="(\/assets\/main-[^"]+\.js)"/.exec(page.text) ?? [];
  const asset = await get(script);
  expect(asset.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  });
  const compressed = await get(script, { 'accept-encoding': 'br, gzip' });
  expect(compressed.headers['content-encoding']).toBe('gzip');
  expectSecurityHeaders(asset);
});

test.each([
  '/assets/../manifest.json',
  '/assets/..%2fmanifest.json',
  '/assets/%2e%2e/service.ts',
  '/assets/..\\service.ts',
  '/assets//etc/passwd',
  '/assets/main.js.gz',
])('%s leads to no file', async (path) => {
  const response = await sendRaw(system.address, `GET ${path} HTTP/1.1\nHost: x\nConnection: close\n\n`);
  expect(response).toMatch(/^HTTP\/1\.1 (?:400|404) /);
});

test.each([
  ['two lengths', 'Content-Length: 2\nContent-Length: 3\n\n{}'],
  ['a length and chunks', 'Content-Length: 2\nTransfer-Encoding: chunked\n\n0\n\n'],
  ['a disguised transfer encoding', 'Transfer-Encoding: xchunked\n\n0\n\n'],
  ['a repeated Host', 'Host: other\nContent-Length: 2\n\n{}'],
  ['a name with an underscore', 'Content_Length: 5\nContent-Length: 2\n\n{}'],
])('a request with %s is rejected, and its connection is closed (smuggling)', async (_what, rest) => {
  const head = `POST /console/sign-in/link HTTP/1.1\nHost: x\nOrigin: ${system.url}\nContent-Type: application/json\n`;
  const response = await sendRaw(system.address, head + rest);
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(response.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  expect(response.toLowerCase()).toContain('connection: close');
});

test('headers that could forge a principal are not forwarded: auth and the services see the person of the session', async () => {
  const viewer = await system.signIn('viewer');
  const headers = {
    'x-guild-principal': 'forged',
    'x-internal-caller': 'gateway',
    'x-forwarded-for': '203.0.113.9',
    'x-http-method-override': 'DELETE',
    connection: 'keep-alive, x-guild-id',
  };
  // Connection makes x-guild-id a header of this connection alone, so that it is not read either.
  expect((await viewer.api(`/guilds/${GUILD}/usage`, { headers })).status).toBe(400);
  const { connection: _connection, ...others } = headers;
  expect((await viewer.api(`/guilds/${GUILD}/usage`, { headers: others })).status).toBe(200);
  const { json } = await viewer.send('/console/sessions', { headers: others });
  expect(json.data.sessions[0].address).toBe('127.0.0.1');
});

test('a guild in the path or the body must be that of the header X-Guild-ID', async () => {
  const { status, json } = await owner.api('/guilds/900000000000000002/usage');
  expect([status, json.details.code]).toEqual([403, 'GUILD_MISMATCH']);
  const body = { guild_id: '900000000000000002', game_ids: [1] };
  const other = await owner.api('/lookup/status', { method: 'POST', body });
  expect([other.status, other.json.details.code]).toEqual([403, 'GUILD_MISMATCH']);
});

test('waiting and streaming routes of the REST API are not forwarded', async () => {
  expect((await owner.api('/events?wait=20')).status).toBe(400);
  expect((await owner.api('/events/stream')).status).toBe(404);
});

test('a name with HTML comes back as JSON with nosniff, unchanged', async () => {
  const name = '<img src=x onerror=alert(1)>';
  const body = { name, scopes: ['lookup:read'] };
  const created = await owner.send(`/console/guilds/${GUILD}/keys`, { method: 'POST', body });
  expect(created.json.data.name).toBe(name);
  expect(created.headers['content-type']).toBe('application/json; charset=utf-8');
  const listed = await owner.send(`/console/guilds/${GUILD}/keys`);
  expect(listed.json.data.keys.map((key: { name: string }) => key.name)).toContain(name);
  expectSecurityHeaders(listed);
});

test('the faults that auth finds name the place in the HTTP request', async () => {
  const body = { name: 'k', scopes: ['lookup:read'], ip_allowlist: ['999.1.1.1'] };
  const { status, json } = await owner.send(`/console/guilds/${GUILD}/keys`, { method: 'POST', body });
  expect(status).toBe(400);
  expect(json.details.errors).toEqual([expect.objectContaining({ path: 'body.ip_allowlist[0]' })]);
  expect(json.message).toMatch(/^body\.ip_allowlist\[0\] /);
  const page = await owner.send(`/console/guilds/${GUILD}/keys?cursor=x`);
  expect(page.json.details.errors).toEqual([expect.objectContaining({ path: 'query.cursor' })]);
  const session = await owner.send('/console/sessions/x', { method: 'DELETE' });
  expect(session.json.details.errors).toEqual([expect.objectContaining({ path: 'path.sessionId' })]);
});

test('a body above 64 KiB is rejected, with a length and in chunks', async () => {
  const reason = 'x'.repeat(70_000);
  const options = { method: 'POST', body: { game_id: 1, reason } };
  expect((await owner.api(`/moderation/${GUILD}/game/ban`, options)).status).toBe(413);
  const headers = { 'transfer-encoding': 'chunked' };
  expect((await owner.api(`/moderation/${GUILD}/game/ban`, { ...options, headers })).status).toBe(413);
});

test('HEAD is forwarded, and PUT of a page is 405', async () => {
  expect((await owner.api(`/guilds/${GUILD}/usage`, { method: 'HEAD' })).status).toBe(200);
  const put = await owner.send('/guilds', { method: 'PUT' });
  expect([put.status, put.headers.allow]).toEqual([405, 'GET, HEAD']);
});

test('a provider that is cancelled leads back to the sign-in page with an error code, and only to paths of the console', async () => {
  const { headers } = await get('/console/sign-in/chat?return_to=//evil.example');
  expect(headers.location).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/oauth2\/authorize\?/);
  const failed = await get('/console/sign-in/chat/callback?error=access_denied&state=unknown');
  expect([failed.status, failed.headers.location]).toEqual([303, '/sign-in?error=INVALID_REQUEST']);
});
