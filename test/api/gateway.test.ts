import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOCS_SECURITY_POLICY } from '#gateway/docs/layout.ts';
import { waitForWindowTime } from '../measure/windows.ts';
import { type CallResult, GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

let network: Network;
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
});
afterAll(() => network.stop());

/** Checks the envelope and the headers of an error. */
function expectError({ status, headers, json }: CallResult, code: number, name: string): void {
  expect({ status, json }).toMatchObject({ status: code, json: { status: 'error', code, details: { code: name } } });
  expect(json.message.length).toBeGreaterThan(0);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
}

const status = (overrides: Record<string, unknown> = {}) => ({ guild_id: GUILD, chat_ids: [], ...overrides });

describe('the documents', () => {
  it('count with their status from the first request on, although they are created then', async () => {
    await network.startOne('gateway');
    const response = await fetch(`http://${network.address('gateway', 'http')}/openapi.json`);
    expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ openapi: '3.1.1' })]);
    const metrics = await (await fetch(`http://${network.address('gateway', 'admin')}/metrics`)).text();
    expect(metrics.match(/^http_requests_total\{route="none",method="GET",.*$/gm)).toEqual([
      'http_requests_total{route="none",method="GET",code="200"} 1',
    ]);
  });
});

describe('whoami', () => {
  it('returns exactly four fields for an ordinary key', async () => {
    const own = await network.createKey({ scopes: ['lookup:read', 'verify:write'] });
    const { status: code, json } = await network.call('/whoami', { key: own.secret });
    expect(code).toBe(200);
    expect(json).toEqual({
      status: 'success',
      code: 200,
      message: expect.any(String),
      data: {
        guild_id: GUILD,
        prefix: own.secret.slice(0, `service_${GUILD}_`.length + 6),
        scopes: ['lookup:read', 'verify:write'],
        legacy: false,
      },
    });
  });

  it('returns null scopes for a legacy key, which may use every route', async () => {
    const own = await network.createKey({ legacy: true, scopes: [], guildId: OTHER_GUILD });
    const { json } = await network.call('/whoami', { key: own.secret });
    expect(json.data).toMatchObject({ scopes: null, legacy: true });
    const lookup = await network.call('/lookup/status', {
      method: 'POST',
      key: own.secret,
      body: status({ guild_id: OTHER_GUILD }),
    });
    expect(lookup.status).toBe(200);
  });

  it.each([
    ['X-API-Key', (secret: string) => ({ 'x-api-key': secret })],
    ['Authorization: ApiKey', (secret: string) => ({ authorization: `ApiKey ${secret}` })],
    ['Authorization: Bearer', (secret: string) => ({ authorization: `Bearer ${secret}` })],
    ['a scheme in lower case', (secret: string) => ({ authorization: `bearer ${secret}` })],
  ])('accepts the key as %s', async (_form, headers) => {
    expect((await network.call('/whoami', { headers: headers(key) })).status).toBe(200);
  });

  it('responds to HEAD like to GET, without a body', async () => {
    const { status: code, json, headers } = await network.call('/whoami', { method: 'HEAD', key });
    expect([code, json]).toEqual([200, undefined]);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
  });

  it('is not counted unless the key has its own limit', async () => {
    expect((await network.call('/whoami', { key })).headers.has('x-ratelimit-limit')).toBe(false);
    const capped = await network.createKey({ rateLimit: 2, guildId: OTHER_GUILD });
    await waitForWindowTime(10_000);
    const responses = [];
    for (let count = 0; count < 3; count++) responses.push(await network.call('/whoami', { key: capped.secret }));
    const remaining = responses.map(({ headers }) => headers.get('x-ratelimit-remaining'));
    expect(responses.map((response) => response.status)).toEqual([200, 200, 429]);
    expect(remaining).toEqual(['1', '0', '0']);
    expect(responses[2]?.json.details).toEqual({
      code: 'RATE_LIMITED',
      category: 'api_key',
      limit: 2,
      window: 60,
      retryAfter: Number(responses[2]?.headers.get('retry-after')),
    });
  });
});

describe('errors, each in the envelope', () => {
  it('401 MISSING_API_KEY without a key', async () => {
    expectError(await network.call('/whoami'), 401, 'MISSING_API_KEY');
    expectError(await network.call('/whoami', { headers: { authorization: 'Basic eDp5' } }), 401, 'MISSING_API_KEY');
  });

  it('401 INVALID_API_KEY is the same for malformed, mistyped and unknown keys', async () => {
    const swapped = key.slice(0, -7) + (key.at(-7) === 'a' ? 'b' : 'a') + key.slice(-6);
    const responses = await Promise.all(
      ['nonsense', swapped, `service_${GUILD}_${'x'.repeat(38)}`].map((wrong) =>
        network.call('/whoami', { key: wrong }),
      ),
    );
    for (const response of responses) {
      expectError(response, 401, 'INVALID_API_KEY');
      expect(response.json.message).toBe('Invalid API key for this guild');
    }
  });

  it('401 INVALID_API_KEY for a key in the query, even with a valid key in a header', async () => {
    for (const query of [
      `?x=${key}`,
      '?api_key=x',
      '?key=1',
      '?access_token=',
      `?a=${encodeURIComponent(`(${key})`)}`,
    ]) {
      const response = await network.call(`/whoami${query}`, { key });
      expectError(response, 401, 'INVALID_API_KEY');
      expect(response.json.message).toBe('Keys in URLs are rejected');
    }
  });

  it('401 API_KEY_EXPIRED after the expiry of the key', async () => {
    const own = await network.createKey({ expiresAt: Math.floor(Date.now() / 1000) + 3 });
    await expect
      .poll(async () => (await network.call('/whoami', { key: own.secret })).json.details?.code, { timeout: 10_000 })
      .toBe('API_KEY_EXPIRED');
    const { json } = await network.call('/whoami', { key: own.secret });
    expect(json.message).toContain('has expired');
  });

  it('403 IP_NOT_ALLOWED returns the client address, so that the allowlist can be corrected', async () => {
    const own = await network.createKey({ ipAllowlist: ['203.0.113.0/24'] });
    const response = await network.call('/whoami', { key: own.secret });
    expectError(response, 403, 'IP_NOT_ALLOWED');
    expect(response.json.details.client_ip).toBe('127.0.0.1');
  });

  it('403 GUILD_MISMATCH for another guild in path, header or body', async () => {
    const message = 'API key does not match target guild';
    const responses = [
      await network.call(`/guilds/${OTHER_GUILD}/verified`, { key }),
      await network.call('/lookup/game/7', { key, headers: { 'x-guild-id': OTHER_GUILD } }),
      await network.call(`/guilds/${GUILD}/verified`, { key, headers: { 'x-guild-id': OTHER_GUILD } }),
      await network.call('/reverse', { key, method: 'POST', body: { guild_id: OTHER_GUILD, game_id: 'x' } }),
    ];
    for (const response of responses) {
      expectError(response, 403, 'GUILD_MISMATCH');
      expect(response.json.message).toBe(message);
    }
    // The service reads the body after the request was counted.
    const counted = responses.map(({ headers }) => headers.has('x-ratelimit-remaining'));
    expect(counted).toEqual([false, false, false, true]);
  });

  it('400 for a missing X-Guild-ID comes before the checks of scope and limits', async () => {
    const own = await network.createKey({ scopes: ['server:write'] });
    const response = await network.call('/lookup/game/7', { key: own.secret });
    expectError(response, 400, 'INVALID_REQUEST');
    expect(response.json.details.errors).toEqual([{ path: 'header.X-Guild-ID', message: 'is required' }]);
  });

  it('403 MISSING_SCOPE returns the required scope', async () => {
    const own = await network.createKey({ scopes: ['moderation:write'], guildId: OTHER_GUILD });
    const response = await network.call('/lookup/game/7', { key: own.secret, headers: { 'x-guild-id': OTHER_GUILD } });
    expectError(response, 403, 'MISSING_SCOPE');
    expect(response.json.details.required_scope).toBe('lookup:read');
  });

  it('400 for a duplicate query parameter', async () => {
    const response = await network.call('/whoami?a=1&a=2', { key });
    expectError(response, 400, 'INVALID_REQUEST');
    expect(response.json.details.errors).toEqual([{ path: 'query.a', message: 'must be given only once' }]);
  });

  it('404 ROUTE_NOT_FOUND comes before 401; paths must match exactly', async () => {
    for (const path of ['/nothing', '/whoami/', '/Whoami', '//whoami', '/lookup/chat/']) {
      expectError(await network.call(path), 404, 'ROUTE_NOT_FOUND');
    }
  });

  it.each(['OPTIONS', 'PUT', 'DELETE', 'POST'])('405 METHOD_NOT_ALLOWED for %s with Allow', async (method) => {
    const response = await network.call('/whoami', { method, key });
    expectError(response, 405, 'METHOD_NOT_ALLOWED');
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    expect(response.headers.has('access-control-allow-origin')).toBe(false);
  });

  it('415 for a body that is not JSON, 413 for one above 64 KiB, also if chunked or compressed', async () => {
    const post = (body: unknown, headers = {}) =>
      network.call('/lookup/status', { method: 'POST', key, body, headers });
    expectError(
      await post('a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    );
    expectError(await post('{}', { 'content-encoding': 'br' }), 415, 'UNSUPPORTED_MEDIA_TYPE');
    const large = JSON.stringify(status({ padding: 'x'.repeat(65_536) }));
    expectError(await post(large), 413, 'PAYLOAD_TOO_LARGE');
    expectError(await post(gzipSync(large), { 'content-encoding': 'gzip' }), 413, 'PAYLOAD_TOO_LARGE');
    expect((await post(gzipSync(JSON.stringify(status())), { 'content-encoding': 'gzip' })).status).toBe(200);
  });

  it('400 for malformed JSON, deep nesting and bodies that are not objects, without a crash', async () => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    for (const body of ['{"guild_id":', '{"a":1}}', 'null', '"x"', '[1]', deep, '\u0000', '{"a":NaN}']) {
      expectError(await network.call('/lookup/status', { method: 'POST', key, body }), 400, 'INVALID_REQUEST');
    }
    expect((await network.call('/whoami', { key })).status).toBe(200);
  });

  it('__proto__ and constructor in a body have no effect', async () => {
    const body = `{"__proto__":{"guild_id":"${GUILD}"},"constructor":{"prototype":{"polluted":1}},"guild_id":"${GUILD}","chat_ids":[]}`;
    expect((await network.call('/lookup/status', { method: 'POST', key, body })).json.data).toEqual({ results: {} });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const onlyProto = await network.call('/reverse', { method: 'POST', key, body: '{"__proto__":{"game_id":7}}' });
    expectError(onlyProto, 400, 'INVALID_REQUEST');
  });

  it('431 for headers above 16 KiB', async () => {
    expectError(
      await network.call('/whoami', { key, headers: { 'x-large': 'x'.repeat(17_000) } }),
      431,
      'HEADERS_TOO_LARGE',
    );
  });
});

describe('limits', () => {
  /** Sends 61 lookups of a new guild within one window. */
  async function lookups(): Promise<CallResult[]> {
    for (let guild = 1; guild <= 3; guild++) {
      const guildId = `91000000000000000${guild}`;
      const own = await network.createKey({ guildId });
      const responses = [];
      for (let count = 0; count < 61; count++) {
        responses.push(await network.call('/lookup/game/7', { key: own.secret, headers: { 'x-guild-id': guildId } }));
      }
      if (new Set(responses.map(({ headers }) => headers.get('x-ratelimit-reset'))).size === 1) return responses;
    }
    throw new Error('61 lookups never fitted into a window');
  }

  it('of 61 lookups in a window the last gets 429 with its category, and the headers count down', async () => {
    const responses = await lookups();
    expect(responses.slice(0, 60).map((response) => response.status)).toEqual(Array(60).fill(404));
    expect(responses.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(
      [...Array(60).keys()].map((count) => String(59 - count)).concat('0'),
    );
    const last = responses[60] as CallResult;
    expectError(last, 429, 'RATE_LIMITED');
    expect(last.json.details).toMatchObject({ category: 'lookup', limit: 60, window: 60 });
    expect(Number(last.headers.get('x-ratelimit-reset')) % 60).toBe(0);
    expect(Number(last.headers.get('retry-after'))).toBe(last.json.details.retryAfter);
  });
});

describe('paths without a key', () => {
  it('are health, the OpenAPI document and the pages of the documentation', async () => {
    const base = network.api.replace('/api/v1', '');
    const health = await fetch(`${base}/healthz`);
    expect([health.status, await health.json()]).toMatchObject([200, { status: 'success' }]);
    const openapi = (await (await fetch(`${base}/openapi.json`)).json()) as { openapi: string };
    expect(openapi.openapi).toMatch(/^3\.1/);
    const docs = await fetch(`${base}/docs`);
    expect(docs.headers.get('content-type')).toContain('text/html');
    expect(docs.headers.get('content-security-policy')).toBe(DOCS_SECURITY_POLICY);
    expect(await docs.text()).toContain('href="/docs/verify-a-player"');
    for (const path of ['/docs/reference/moderation', '/docs/search?q=ban', '/changelog', '/llms.txt']) {
      expect((await fetch(base + path)).status).toBe(200);
    }
    expect((await fetch(`${base}/docs/nothing`)).status).toBe(404);
    expect((await fetch(`${base}/healthz`, { method: 'POST' })).status).toBe(405);
  });
});
