import { createServer, get, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Readiness } from '#kit/service/readiness.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { listening } from '#test/network/listening.ts';
import { DOCS_SECURITY_POLICY } from '../docs/layout.ts';
import { createOwnResponses } from './own-responses.ts';

let server: { url: string; close: () => void };

beforeAll(async () => {
  const readiness = new Readiness();
  const options = {
    routes: ROUTES,
    version: '1.0',
    serverUrl: 'http://127.0.0.1:8080',
    readiness,
    securityTxt: undefined,
  };
  server = await listening(createServer(createOwnResponses(options).handle));
});
afterAll(() => server.close());

test('if the documents cannot be created, the next request tries again', async () => {
  let attempts = 0;
  const options = {
    routes: ROUTES,
    serverUrl: 'http://127.0.0.1:8080',
    readiness: new Readiness(),
    securityTxt: undefined,
    get version(): string {
      if (++attempts === 1) throw new Error('the first attempt fails');
      return '1.0';
    },
  };
  const { url, close } = await listening(createServer(createOwnResponses(options).handle));
  onTestFinished(close);
  const statuses = [await fetch(`${url}/openapi.json`), await fetch(`${url}/openapi.json`)].map((it) => it.status);
  expect(statuses).toEqual([500, 200]);
});

interface Received {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Sends a request with exactly these headers. fetch would add Accept-Encoding and decode the response. */
async function call(path: string, headers: IncomingHttpHeaders = {}, method = 'GET'): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  httpRequest(server.url + path, { method, headers, agent: false }, resolve)
    .on('error', reject)
    .end();
  const response = await promise;
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

describe.each([
  ['/docs', 'text/html; charset=utf-8', '<!doctype html>', 2.5],
  ['/docs/reference/moderation', 'text/html; charset=utf-8', '<!doctype html>', 4],
  ['/docs/style.css', 'text/css; charset=utf-8', '/* The style sheet', 2.5],
  ['/changelog', 'text/html; charset=utf-8', '<!doctype html>', 2.5],
  ['/llms.txt', 'text/plain; charset=utf-8', '# Guild Data API', 2.5],
  ['/openapi.json', 'application/json; charset=utf-8', '{"openapi":"3.1', 4],
  ['/postman.json', 'application/json; charset=utf-8', '{"info":{"name":"Guild Data"', 4],
])('%s', (path, type, beginning, ratio) => {
  test('is served uncompressed by default, and may be cached for five minutes', async () => {
    const { status, headers, body } = await call(path);
    expect([status, headers['content-type'], headers['content-encoding']]).toEqual([200, type, undefined]);
    expect(headers['cache-control']).toBe('public, max-age=300');
    expect(headers['vary']).toBe('Accept-Encoding');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(Number(headers['content-length'])).toBe(body.length);
    expect(body.toString().startsWith(beginning)).toBe(true);
  });

  test.each(['gzip', 'br, gzip', 'deflate, gzip;q=0.5', '*', 'GZIP'])(
    'is compressed with gzip for Accept-Encoding: %s',
    async (accepted) => {
      const [plain, packed] = [await call(path), await call(path, { 'accept-encoding': accepted })];
      expect([packed.status, packed.headers['content-encoding']]).toEqual([200, 'gzip']);
      expect(packed.headers['content-type']).toBe(type);
      expect(packed.headers['vary']).toBe('Accept-Encoding');
      expect(Number(packed.headers['content-length'])).toBe(packed.body.length);
      expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
      expect(packed.body.length).toBeLessThan(plain.body.length / ratio);
      expect(packed.headers.etag).not.toBe(plain.headers.etag);
    },
  );

  test.each(['gzip;q=0', 'identity', 'br', '', 'identity;q=0, gzip;q=0', 'gzip;q=0.1, identity;q=0.9'])(
    'is not compressed for Accept-Encoding: "%s"',
    async (accepted) => {
      const { status, headers } = await call(path, { 'accept-encoding': accepted });
      expect([status, headers['content-encoding']]).toEqual([200, undefined]);
    },
  );

  test.each([{}, { 'accept-encoding': 'gzip' }])(
    'is 304 without a body if the client has the current version, with %o',
    async (accepted) => {
      const { headers } = await call(path, accepted);
      const { etag = '' } = headers;
      expect(etag).toMatch(/^"[\w-]+"$/);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await call(path, { ...accepted, 'if-none-match': known });
        expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, etag]);
        expect(again.headers['cache-control']).toBe('public, max-age=300');
        expect(again.headers['vary']).toBe('Accept-Encoding');
      }
      expect((await call(path, { ...accepted, 'if-none-match': '"other"' })).status).toBe(200);
    },
  );

  test('each content encoding has its own ETag', async () => {
    const { etag = '' } = (await call(path, { 'accept-encoding': 'gzip' })).headers;
    expect((await call(path, { 'if-none-match': etag })).status).toBe(200);
  });

  test('HEAD returns the headers of GET without a body', async () => {
    for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
      const [got, head] = [await call(path, headers), await call(path, headers, 'HEAD')];
      expect([head.status, head.body.length]).toEqual([200, 0]);
      const { date: _, ...rest } = got.headers;
      expect(head.headers).toMatchObject(rest);
    }
  });

  test('any other method gets 405', async () => {
    const { status, headers } = await call(path, {}, 'POST');
    expect([status, headers['allow']]).toEqual([405, 'GET, HEAD']);
  });
});

test('/ redirects to the documentation, with an envelope as body', async () => {
  const { status, headers, body } = await call('/');
  expect([status, headers['location'], headers['cache-control']]).toEqual([302, '/docs', 'no-store']);
  expect(JSON.parse(body.toString())).toMatchObject({ status: 'success', code: 302, data: { location: '/docs' } });
  expect((await call('/', {}, 'POST')).status).toBe(405);
});

test('a slash behind the path of a document is removed by a redirect', async () => {
  for (const path of ['/docs', '/docs/search', '/docs/reference/moderation', '/openapi.json']) {
    const { status, headers, body } = await call(`${path}/?a=b`);
    expect([status, headers['location']]).toEqual([301, path]);
    expect(JSON.parse(body.toString())).toMatchObject({ status: 'success', code: 301, data: { location: path } });
  }
});

test('a page that does not exist gets 404 in the envelope, which says where the pages are', async () => {
  for (const path of ['/docs/nothing', '/docs//', '/docs/a/b', '/docs/Search', '/docs/search/x']) {
    const { status, headers, body } = await call(path);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      404,
      'application/json; charset=utf-8',
      'no-store',
    ]);
    expect(JSON.parse(body.toString())).toMatchObject({
      status: 'error',
      message: 'There is no such page. All pages are listed at /docs',
      details: { code: 'ROUTE_NOT_FOUND' },
    });
    const posted = await call(path, {}, 'POST');
    expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD']);
  }
});

test('every page has the security policy, and no document but pages has it', async () => {
  for (const path of ['/docs', '/docs/limits', '/docs/search?q=x', '/changelog']) {
    expect((await call(path)).headers['content-security-policy']).toBe(DOCS_SECURITY_POLICY);
  }
  expect((await call('/llms.txt')).headers['content-security-policy']).toBeUndefined();
});

describe('the search', () => {
  test('returns a page that is not cached, with GET and HEAD', async () => {
    const { status, headers, body } = await call('/docs/search?q=ban+player&q=other&x=%22');
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-store',
    ]);
    expect(body.toString()).toContain('/docs/reference/moderation#banPlayer');
    const head = await call('/docs/search?q=ban+player', {}, 'HEAD');
    expect([head.status, head.body.length]).toEqual([200, 0]);
  });

  test('without a word shows how to search, and shows what was searched for as text', async () => {
    expect((await call('/docs/search')).body.toString()).toContain('Type what you look for');
    const hostile = (await call('/docs/search?q=%3Cscript%3E')).body.toString();
    expect(hostile).toContain('&lt;script&gt;');
    expect(hostile).not.toContain('<script>');
  });

  test('any other method gets 405', async () => {
    const { status, headers } = await call('/docs/search?q=ban', {}, 'POST');
    expect([status, headers['allow']]).toEqual([405, 'GET, HEAD']);
  });
});

test('/healthz must not be cached', async () => {
  const { status, headers } = await call('/healthz', { 'accept-encoding': 'gzip' });
  expect([status, headers['cache-control'], headers['etag']]).toEqual([503, 'no-store', undefined]);
});

test('a client that disconnects during a document does not affect other requests', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const request = get(`${server.url}/openapi.json`, { agent: false }, (response) => {
    response.once('data', () => {
      response.destroy();
      resolve();
    });
  });
  request.on('error', () => undefined);
  await promise;
  expect((await call('/openapi.json')).status).toBe(200);
});
