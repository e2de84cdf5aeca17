import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOCS_SECURITY_POLICY } from '#gateway/docs/page.ts';
import { untilWindowHas } from '../measure/windows.ts';
import { type CallResult, GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

let network: Network;
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
});
afterAll(() => network.stop());

/** What every refusal must look like. */
function expectRefusal({ status, headers, json }: CallResult, code: number, name: string): void {
  expect({ status, json }).toMatchObject({ status: code, json: { status: 'error', code, details: { code: name } } });
  expect(json.message.length).toBeGreaterThan(0);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
}

const status = (overrides: Record<string, unknown> = {}) => ({ guild_id: GUILD, chat_ids: [], ...overrides });

describe('whoami', () => {
  it('tells exactly the four fields of an ordinary key', async () => {
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

  it('tells null scopes of a legacy key, which reaches everything', async () => {
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
  ])('takes the key as %s', async (_form, headers) => {
    expect((await network.call('/whoami', { headers: headers(key) })).status).toBe(200);
  });

  it('answers HEAD like GET without a body', async () => {
    const { status: code, json, headers } = await network.call('/whoami', { method: 'HEAD', key });
    expect([code, json]).toEqual([200, undefined]);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
  });

  it('is not counted, unless the key has a cap of its own', async () => {
    expect((await network.call('/whoami', { key })).headers.has('x-ratelimit-limit')).toBe(false);
    const capped = await network.createKey({ rateLimit: 2, guildId: OTHER_GUILD });
    await untilWindowHas(10_000);
    const answers = [];
    for (let count = 0; count < 3; count++) answers.push(await network.call('/whoami', { key: capped.secret }));
    const remaining = answers.map(({ headers }) => headers.get('x-ratelimit-remaining'));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 429]);
    expect(remaining).toEqual(['1', '0', '0']);
    expect(answers[2]?.json.details).toEqual({
      code: 'RATE_LIMITED',
      category: 'api_key',
      limit: 2,
      window: 60,
      retryAfter: Number(answers[2]?.headers.get('retry-after')),
    });
  });
});

describe('refusals, each in the envelope', () => {
  it('401 MISSING_API_KEY without a key', async () => {
    expectRefusal(await network.call('/whoami'), 401, 'MISSING_API_KEY');
    expectRefusal(await network.call('/whoami', { headers: { authorization: 'Basic eDp5' } }), 401, 'MISSING_API_KEY');
  });

  it('401 INVALID_API_KEY reads the same for malformed, mistyped and unknown keys', async () => {
    const swapped = key.slice(0, -7) + (key.at(-7) === 'a' ? 'b' : 'a') + key.slice(-6);
    const answers = await Promise.all(
      ['nonsense', swapped, `service_${GUILD}_${'x'.repeat(38)}`].map((wrong) =>
        network.call('/whoami', { key: wrong }),
      ),
    );
    for (const answer of answers) {
      expectRefusal(answer, 401, 'INVALID_API_KEY');
      expect(answer.json.message).toBe('Invalid API key for this guild');
    }
  });

  it('401 INVALID_API_KEY for a key in the query, even beside a good header', async () => {
    for (const query of [
      `?x=${key}`,
      '?api_key=x',
      '?key=1',
      '?access_token=',
      `?a=${encodeURIComponent(`(${key})`)}`,
    ]) {
      const answer = await network.call(`/whoami${query}`, { key });
      expectRefusal(answer, 401, 'INVALID_API_KEY');
      expect(answer.json.message).toBe('Keys in URLs are refused');
    }
  });

  it('401 API_KEY_EXPIRED once its time has come', async () => {
    const own = await network.createKey({ expiresAt: Math.floor(Date.now() / 1000) + 3 });
    await expect
      .poll(async () => (await network.call('/whoami', { key: own.secret })).json.details?.code, { timeout: 10_000 })
      .toBe('API_KEY_EXPIRED');
    const { json } = await network.call('/whoami', { key: own.secret });
    expect(json.message).toContain('has expired');
  });

  it('403 IP_NOT_ALLOWED names the address, so that its owner can mend the list', async () => {
    const own = await network.createKey({ ipAllowlist: ['203.0.113.0/24'] });
    const answer = await network.call('/whoami', { key: own.secret });
    expectRefusal(answer, 403, 'IP_NOT_ALLOWED');
    expect(answer.json.details.client_ip).toBe('127.0.0.1');
  });

  it('403 GUILD_MISMATCH for another guild in path, header or body', async () => {
    const message = 'API key does not match target guild';
    const answers = [
      await network.call(`/guilds/${OTHER_GUILD}/verified`, { key }),
      await network.call('/lookup/game/7', { key, headers: { 'x-guild-id': OTHER_GUILD } }),
      await network.call(`/guilds/${GUILD}/verified`, { key, headers: { 'x-guild-id': OTHER_GUILD } }),
      await network.call('/reverse', { key, method: 'POST', body: { guild_id: OTHER_GUILD, game_id: 'x' } }),
    ];
    for (const answer of answers) {
      expectRefusal(answer, 403, 'GUILD_MISMATCH');
      expect(answer.json.message).toBe(message);
    }
    // The body is read last, by the service, when the request was counted already.
    const counted = answers.map(({ headers }) => headers.has('x-ratelimit-remaining'));
    expect(counted).toEqual([false, false, false, true]);
  });

  it('400 names the missing X-Guild-ID, before scope and limits', async () => {
    const own = await network.createKey({ scopes: ['server:write'] });
    const answer = await network.call('/lookup/game/7', { key: own.secret });
    expectRefusal(answer, 400, 'INVALID_REQUEST');
    expect(answer.json.details.errors).toEqual([{ path: 'header.X-Guild-ID', message: 'is required' }]);
  });

  it('403 MISSING_SCOPE names the scope', async () => {
    const own = await network.createKey({ scopes: ['moderation:write'], guildId: OTHER_GUILD });
    const answer = await network.call('/lookup/game/7', { key: own.secret, headers: { 'x-guild-id': OTHER_GUILD } });
    expectRefusal(answer, 403, 'MISSING_SCOPE');
    expect(answer.json.details.required_scope).toBe('lookup:read');
  });

  it('400 names a query parameter that is given twice', async () => {
    const answer = await network.call('/whoami?a=1&a=2', { key });
    expectRefusal(answer, 400, 'INVALID_REQUEST');
    expect(answer.json.details.errors).toEqual([{ path: 'query.a', message: 'must be given only once' }]);
  });

  it('404 ROUTE_NOT_FOUND comes before 401; paths are strict', async () => {
    for (const path of ['/nothing', '/whoami/', '/Whoami', '//whoami', '/lookup/chat/']) {
      expectRefusal(await network.call(path), 404, 'ROUTE_NOT_FOUND');
    }
  });

  it.each(['OPTIONS', 'PUT', 'DELETE', 'POST'])('405 METHOD_NOT_ALLOWED for %s with Allow', async (method) => {
    const answer = await network.call('/whoami', { method, key });
    expectRefusal(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
    expect(answer.headers.has('access-control-allow-origin')).toBe(false);
  });

  it('415 for a body that is not JSON, 413 for one over 64 KiB, also chunked and inflated', async () => {
    const post = (body: unknown, headers = {}) =>
      network.call('/lookup/status', { method: 'POST', key, body, headers });
    expectRefusal(
      await post('a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    );
    expectRefusal(await post('{}', { 'content-encoding': 'br' }), 415, 'UNSUPPORTED_MEDIA_TYPE');
    const large = JSON.stringify(status({ padding: 'x'.repeat(65_536) }));
    expectRefusal(await post(large), 413, 'PAYLOAD_TOO_LARGE');
    expectRefusal(await post(gzipSync(large), { 'content-encoding': 'gzip' }), 413, 'PAYLOAD_TOO_LARGE');
    expect((await post(gzipSync(JSON.stringify(status())), { 'content-encoding': 'gzip' })).status).toBe(200);
  });

  it('400 for malformed JSON, deep nesting and what is no object, and the process lives on', async () => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    for (const body of ['{"guild_id":', '{"a":1}}', 'null', '"x"', '[1]', deep, '\u0000', '{"a":NaN}']) {
      expectRefusal(await network.call('/lookup/status', { method: 'POST', key, body }), 400, 'INVALID_REQUEST');
    }
    expect((await network.call('/whoami', { key })).status).toBe(200);
  });

  it('__proto__ and constructor in a body change nothing', async () => {
    const body = `{"__proto__":{"guild_id":"${GUILD}"},"constructor":{"prototype":{"polluted":1}},"guild_id":"${GUILD}","chat_ids":[]}`;
    expect((await network.call('/lookup/status', { method: 'POST', key, body })).json.data).toEqual({ results: {} });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const onlyProto = await network.call('/reverse', { method: 'POST', key, body: '{"__proto__":{"game_id":7}}' });
    expectRefusal(onlyProto, 400, 'INVALID_REQUEST');
  });

  it('431 for headers over 16 KiB', async () => {
    expectRefusal(
      await network.call('/whoami', { key, headers: { 'x-large': 'x'.repeat(17_000) } }),
      431,
      'HEADERS_TOO_LARGE',
    );
  });
});

describe('limits', () => {
  /** 61 lookups of a guild of its own, all within one window. */
  async function lookups(): Promise<CallResult[]> {
    for (let guild = 1; guild <= 3; guild++) {
      const guildId = `91000000000000000${guild}`;
      const own = await network.createKey({ guildId });
      const answers = [];
      for (let count = 0; count < 61; count++) {
        answers.push(await network.call('/lookup/game/7', { key: own.secret, headers: { 'x-guild-id': guildId } }));
      }
      if (new Set(answers.map(({ headers }) => headers.get('x-ratelimit-reset'))).size === 1) return answers;
    }
    throw new Error('61 lookups never fitted into a window');
  }

  it('61 lookups in a window: the last is refused with its category, and headers count down', async () => {
    const answers = await lookups();
    expect(answers.slice(0, 60).map((answer) => answer.status)).toEqual(Array(60).fill(404));
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(
      [...Array(60).keys()].map((count) => String(59 - count)).concat('0'),
    );
    const last = answers[60] as CallResult;
    expectRefusal(last, 429, 'RATE_LIMITED');
    expect(last.json.details).toMatchObject({ category: 'lookup', limit: 60, window: 60 });
    expect(Number(last.headers.get('x-ratelimit-reset')) % 60).toBe(0);
    expect(Number(last.headers.get('retry-after'))).toBe(last.json.details.retryAfter);
  });
});

describe('what the gateway answers without a key', () => {
  it('serves health, the OpenAPI document and its page', async () => {
    const base = network.api.replace('/api/v1', '');
    const health = await fetch(`${base}/healthz`);
    expect([health.status, await health.json()]).toMatchObject([200, { status: 'success' }]);
    const openapi = (await (await fetch(`${base}/openapi.json`)).json()) as { openapi: string };
    expect(openapi.openapi).toMatch(/^3\.1/);
    const docs = await fetch(`${base}/docs`);
    expect(docs.headers.get('content-type')).toContain('text/html');
    expect(docs.headers.get('content-security-policy')).toBe(DOCS_SECURITY_POLICY);
    expect(await docs.text()).toContain('/lookup/status');
    expect((await fetch(`${base}/healthz`, { method: 'POST' })).status).toBe(405);
  });
});
