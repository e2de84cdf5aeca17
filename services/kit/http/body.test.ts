import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  BOATS,
  type Call,
  CHAT,
  call,
  close,
  countOf,
  faultPaths,
  GUILD,
  good,
  head,
  logged,
  OTHER_GUILD,
  raw,
  reset,
  seen,
  server,
} from '../fixtures/sample-http.ts';

beforeAll(() => server.start());
afterEach(reset);
afterAll(close);

test('an unreadable body does not hide other errors', async () => {
  const response = await call({ path: `${BOATS}?place=x`, bytes: '{"hidden"' });
  expect(faultPaths(response)).toEqual(['body', 'query.place']);
  expect(response.text).not.toContain('hidden');
});

test.each([
  ['is another', { guild_id: OTHER_GUILD }, 403],
  ['is another, besides other faults', { guild_id: OTHER_GUILD, chat_id: 1 }, 403],
  ['is not a guild ID', { guild_id: 'x', chat_id: CHAT }, 403],
  ['is a number', { guild_id: Number(GUILD), chat_id: CHAT }, 400],
  ['is null', { guild_id: null, chat_id: CHAT }, 400],
  ['is left out', { chat_id: CHAT }, 400],
  ['stands in __proto__', JSON.parse(`{"__proto__":{"guild_id":"${GUILD}"},"chat_id":"${CHAT}"}`), 400],
])(
  'a guild in the body that %s is rejected, before any other error if it is not the guild of the key',
  async (_what, body, expected) => {
    const response = await call({ path: `${BOATS}?place=x`, body });
    expect(response.status).toBe(expected);
    expect(response.body.details?.code).toBe(expected === 403 ? 'GUILD_MISMATCH' : 'INVALID_REQUEST');
  },
);

test('a guild in the body is also checked on a route without body fields', async () => {
  const remove = { method: 'DELETE', path: `${BOATS}/7` };
  expect((await call({ ...remove, body: { guild_id: OTHER_GUILD } })).status).toBe(403);
  expect((await call({ ...remove, body: { guild_id: GUILD } })).status).toBe(200);
  expect((await call(remove)).status).toBe(200);
  expect((await call({ ...remove, bytes: 'x', headers: { 'content-type': 'text/plain' } })).status).toBe(415);
});

test.each([
  ['plain', {}],
  ['with UTF-8 named', { 'content-type': 'Application/JSON; charset="UTF-8"' }],
])('a body is read as JSON: %s', async (_what, headers) => {
  expect((await call({ bytes: JSON.stringify(good), headers })).status).toBe(201);
});

test('gzip is decompressed, also with chunked encoding', async () => {
  const bytes = gzipSync(JSON.stringify(good));
  const headers = { 'content-encoding': 'GZIP' };
  expect((await call({ bytes, headers })).status).toBe(201);
  expect((await call({ bytes, headers, chunked: true })).status).toBe(201);
});

test.each<[string, Call, number]>([
  ['text', { bytes: 'x', headers: { 'content-type': 'text/plain' } }, 415],
  ['no type', { bytes: '{}', headers: { 'content-type': undefined } }, 415],
  ['a form', { bytes: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415],
  ['Latin-1', { bytes: '{}', headers: { 'content-type': 'application/json; charset=iso-8859-1' } }, 415],
  ['deflate', { bytes: deflateSync('{}'), headers: { 'content-encoding': 'deflate' } }, 415],
  ['the encoding identity', { bytes: '{}', headers: { 'content-encoding': 'identity' } }, 415],
  ['two encodings', { bytes: gzipSync('{}'), headers: { 'content-encoding': 'gzip, gzip' } }, 415],
  ['over 64 KiB', { bytes: `{"a":"${'x'.repeat(65_536)}"}` }, 413],
  ['over 64 KiB in chunks', { bytes: `{"a":"${'x'.repeat(65_536)}"}`, chunked: true }, 413],
  [
    'over 64 KiB after decompression',
    { bytes: gzipSync('x'.repeat(1_000_000)), headers: { 'content-encoding': 'gzip' } },
    413,
  ],
  ['invalid gzip', { bytes: 'hidden', headers: { 'content-encoding': 'gzip' } }, 400],
  [
    'incomplete gzip',
    { bytes: gzipSync('{"hidden":1}').subarray(0, 20), headers: { 'content-encoding': 'gzip' } },
    400,
  ],
  ['invalid UTF-8', { bytes: Buffer.from([0x22, 0xff, 0x22]) }, 400],
  ['nothing', { bytes: '' }, 400],
  ['an empty table', { bytes: '[]' }, 400],
  ['no chunk at all', { bytes: '', chunked: true, headers: { 'content-type': undefined } }, 400],
])('a body of %s is rejected in the envelope, and its connection stays usable', async (_what, given, expected) => {
  const rejected = await call(given);
  expect(rejected).toMatchObject({ status: expected, body: { status: 'error', code: expected } });
  expect(rejected.text).not.toContain('hidden');
  expect(await call({ body: good })).toMatchObject({ status: 201 });
});

test('a body of exactly 64 KiB is read', async () => {
  const empty = JSON.stringify({ ...good, pad: '' });
  const bytes = JSON.stringify({ ...good, pad: 'x'.repeat(65_536 - empty.length) });
  expect((await call({ bytes })).status).toBe(201);
});

test('a client that disconnects in the middle of its body reaches no handler and does no harm', async () => {
  const before = await countOf('addBoat', 'POST', 400);
  const socket = await raw(`${head(100)}{"guild_id"`);
  await expect.poll(() => socket.bytesWritten).toBeGreaterThan(100);
  socket.destroy();
  await expect.poll(() => countOf('addBoat', 'POST', 400)).toBe(before + 1);
  expect(seen).toEqual([]);
  expect(logged).toEqual([]);
  expect((await call({ body: good })).status).toBe(201);
});
