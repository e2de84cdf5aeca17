import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { requestContext } from '../context.ts';
import { ApiError } from '../errors.ts';
import {
  BOAT,
  BOATS,
  type Call,
  call,
  close,
  countOf,
  faultPaths,
  GUILD,
  good,
  head,
  logged,
  metrics,
  OTHER_GUILD,
  raw,
  reset,
  sample,
  seen,
  server,
  signedPrincipal,
} from '../fixtures/sample-http.ts';
import { StoredResponse } from '../postgres/idempotency/idempotency.ts';
import { makeApiKey } from '../security/api-key.ts';
import { randomText } from '../security/base62.ts';
import { PRINCIPAL_HEADER } from '../security/principal.ts';
import { hashJson } from './body.ts';

beforeAll(() => server.start());
afterEach(reset);
afterAll(close);

test('the handler gets the parsed request and its context, and the response has the status and message of the route', async () => {
  sample.handle = async () => ({ data: { seen: requestContext.getStore() } }) as never;
  const { status, headers, body } = await call({ path: `${BOATS}?place=5`, body: { ...good, unknown: 1 } });
  expect(status).toBe(201);
  expect(body).toEqual({
    status: 'success',
    code: 201,
    message: 'Boat added',
    data: { seen: { requestId: 'request-1', route: 'addBoat', guildId: GUILD } },
  });
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  expect(headers).not.toHaveProperty('x-powered-by');
  expect(headers).not.toHaveProperty('etag');
  expect(seen[0]).toMatchObject({
    guildId: GUILD,
    params: {},
    query: { place: 5 },
    body: good,
    ignoredFields: ['unknown'],
  });
});

test('path and query are decoded and converted, including a second question mark', async () => {
  await call({ method: 'GET', path: `${BOAT}?limit=5&name=what?%20now&x=1` });
  expect(seen[0]).toMatchObject({ params: { guildId: GUILD, gameId: 7 }, query: { limit: 5, name: 'what? now' } });
});

test("a handler's own status and message replace those of the route, and a replay is sent unchanged", async () => {
  sample.handle = async () => ({ data: { seen: 1 }, status: 200, message: 'There already' }) as never;
  expect(await call({ body: good })).toMatchObject({ status: 200, body: { code: 200, message: 'There already' } });
  sample.handle = async () => new StoredResponse(409, '{"as":"it was"}') as never;
  const replayed = await call({ body: good });
  expect(replayed).toMatchObject({ status: 409, text: '{"as":"it was"}', headers: { 'idempotency-replayed': 'true' } });
});

test('HEAD is GET without a body', async () => {
  const [get, head] = [await call({ method: 'GET', path: BOAT }), await call({ method: 'HEAD', path: BOAT })];
  expect(head).toMatchObject({ status: 200, text: '' });
  expect(head.headers['content-length']).toBe(get.headers['content-length']);
  const rejected = await call({ method: 'HEAD', path: `${BOAT}?limit=0` });
  expect(rejected).toMatchObject({ status: 400, text: '' });
});

test('all errors of body, path, query and headers are reported together, one per path', async () => {
  const response = await call({
    path: `${BOATS}?place=x&place=y&other=1&other=2`,
    headers: { 'idempotency-key': 'k'.repeat(129) },
    body: { guild_id: GUILD, chat_id: 5, crew: { size: 'x' } },
  });
  expect(response).toMatchObject({ status: 400, body: { details: { code: 'INVALID_REQUEST' } } });
  expect(response.body.details?.errors).toEqual([
    { path: 'query.place', message: 'must be given only once' },
    { path: 'query.other', message: 'must be given only once' },
    { path: 'body.chat_id', message: 'must be a chat ID: a string of 17 to 20 digits' },
    { path: 'body.crew.size', message: expect.any(String) },
    { path: 'header.Idempotency-Key', message: 'must have 1 to 128 characters' },
  ]);
  expect(seen).toEqual([]);
});

test.each<[string, Call, number]>([
  ['without a principal', { body: good, headers: { [PRINCIPAL_HEADER]: undefined } }, 401],
  ['with one for another path', { body: good, headers: { [PRINCIPAL_HEADER]: signedPrincipal('POST', BOAT) } }, 401],
  ['to an unknown path', { body: good, path: '/api/v1/nowhere' }, 404],
  ['to the path in capitals', { body: good, path: '/api/v1/Boats' }, 404],
  ['with a trailing slash', { body: good, path: `${BOATS}/` }, 404],
  ['with an invalid percent-escape', { method: 'DELETE', path: `${BOATS}/%ff` }, 400],
])(
  'a request %s is rejected without reading its body, and its connection stays usable',
  async (_what, given, expected) => {
    expect(await call(given)).toMatchObject({ status: expected, body: { status: 'error', code: expected } });
    expect(await call({ body: good })).toMatchObject({ status: 201 });
  },
);

test('an Idempotency-Key has 1 to 128 characters of any kind, and is passed on with the hash of the body', async () => {
  const wire = (text: string) => Buffer.from(text).toString('latin1');
  const keys = ['k', '"\\, é', 'k'.repeat(128), '€'.repeat(128)].map(wire);
  for (const key of keys) await call({ body: good, headers: { 'idempotency-key': key } });
  const write = { guildId: GUILD, method: 'POST', path: BOATS, status: 201, message: 'Boat added' };
  expect(seen.map((request) => request.write)).toEqual(
    keys.map((key) => ({ ...write, key, bodyHash: hashJson(good) })),
  );
  for (const key of ['', wire('€'.repeat(129))]) {
    const rejected = await call({ body: good, headers: { 'idempotency-key': key } });
    expect(faultPaths(rejected)).toEqual(['header.Idempotency-Key']);
  }
  await call({ path: `${BOATS}?place=1`, body: good });
  expect(seen.at(-1)?.write).toMatchObject({ key: undefined, path: BOATS });
});

test('an Idempotency-Key that contains an API key is rejected, because it would be stored unencrypted', async () => {
  const key = makeApiKey(GUILD, randomBytes);
  const random = key.split('_')[2] as string;
  const errors = [{ path: 'header.Idempotency-Key', message: 'must not contain an API key' }];
  for (const held of [`once ${key}`, random, `a${random}b`]) {
    const rejected = await call({ body: good, headers: { 'idempotency-key': held } });
    expect(rejected).toMatchObject({ status: 400, body: { details: { errors } } });
  }
  expect(seen).toEqual([]);
  // Other random text is accepted, and so is the random part of a key of another guild.
  for (const own of [randomText(64, randomBytes), makeApiKey(OTHER_GUILD, randomBytes).split('_')[2]]) {
    expect((await call({ body: good, headers: { 'idempotency-key': own } })).status).toBe(201);
  }
});

test('an error of a handler is sent with its details and Retry-After; a rejection is not logged', async () => {
  sample.handle = () => Promise.reject(new ApiError('CONFLICT', { details: { id: 5 }, retryAfter: 1 }));
  const response = await call({ body: good });
  expect(response).toMatchObject({ status: 409, headers: { 'retry-after': '1' } });
  expect(response.body.details).toEqual({ code: 'CONFLICT', id: 5 });
  expect(logged).toEqual([]);
});

test.each([
  ['rejects', () => Promise.reject(new TypeError('hidden'))],
  [
    'throws synchronously',
    () => {
      throw new TypeError('hidden');
    },
  ],
  ['returns data that JSON cannot represent', async () => ({ data: { seen: 1n } }) as never],
  [
    'throws details that JSON cannot represent',
    () => Promise.reject(new ApiError('NOT_FOUND', { details: { seen: 1n } })),
  ],
])(
  'a handler that %s gives INTERNAL without its message, is logged, and the next request succeeds',
  async (_how, fail) => {
    sample.handle = fail;
    const response = await call({ body: good });
    expect(response).toMatchObject({ status: 500, body: { details: { code: 'INTERNAL' } } });
    expect(response.text).not.toContain('hidden');
    expect(logged).toHaveLength(1);
    sample.handle = async () => ({ data: {} }) as never;
    expect((await call({ body: good })).status).toBe(201);
  },
);

test("a handler's signal is aborted if the client disconnects, and not after the response was sent", async () => {
  await call({ body: good });
  const signals = [seen[0]?.signal];
  sample.handle = async ({ signal }) => {
    signals.push(signal);
    await once(signal, 'abort');
    return { data: {} } as never;
  };
  const body = JSON.stringify(good);
  const socket = await raw(head(body.length) + body);
  await expect.poll(() => signals).toHaveLength(2);
  socket.destroy();
  await expect.poll(() => signals.map((signal) => signal?.aborted)).toEqual([false, true]);
});

test('requests are counted and measured by the name of their route, never by their path', async () => {
  const counts = () => Promise.all([countOf('getBoat', 'GET', 200), countOf('none', 'GET', 404)]);
  const [found, unknown] = await counts();
  await call({ method: 'GET', path: BOAT });
  await call({ method: 'GET', path: '/api/v1/hidden' });
  await expect.poll(counts).toEqual([(found ?? 0) + 1, (unknown ?? 0) + 1]);
  const text = await metrics.registry.metrics();
  expect(text).toMatch(/http_request_duration_seconds_count\{route="getBoat",method="GET"\} [1-9]/);
  expect(text).not.toMatch(/hidden|\/api\/v1/);
});
