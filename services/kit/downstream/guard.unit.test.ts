import { createServer, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendRaw } from '#test/network/raw-http.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { addressOf, listen } from '../service/address.ts';
import { guard, PLAIN_TARGET } from './guard.ts';

/** The errors of the last rejected request. */
let faults: unknown;

/** Returns the error code, or `passed`. */
function verdict(request: IncomingMessage): string {
  const rejection = guard(request);
  faults = rejection?.details.errors;
  return rejection?.code ?? 'passed';
}

const server = createServer({ requireHostHeader: false }, (request, response) => {
  response.setHeader('connection', 'close').end(verdict(request));
});

beforeAll(() => listen(server, '127.0.0.1', 0));
afterAll(() => server.close());

/** Sends bytes, with `\n` for CRLF, and returns the verdict. */
async function send(raw: string): Promise<string> {
  const response = await sendRaw(addressOf(server), raw);
  return response.split('\r\n').at(-1) ?? '';
}

const get = (target: string, headers = '') => send(`GET ${target} HTTP/1.1\nHost: x\n${headers}\n`);

describe('the guard', () => {
  it.each(['/', '/a/b?c=d', '/a%20b', '/a?b=%C3%A9', '/a..b/c', '/?x=../y', '/a;b=c'])('allows %s', async (target) => {
    expect(await get(target)).toContain('passed');
  });

  it.each([
    'http://x/a',
    '*',
    '/a/../b',
    '/a/./b',
    '/..',
    '/a/%2e%2e/b',
    '/a%2Fb',
    '/a%5cb',
    '/a%00',
    '/a\\b',
    '/a%',
    '/a%zz',
    '/a?b=%',
    '/a?b=%ff',
  ])('rejects the target %s', async (target) => {
    expect(await get(target)).toContain('INVALID_REQUEST');
  });

  it.each([
    'Host: y\n',
    'X_Api_Key: service\n',
    'Transfer-Encoding: chunked\n',
    'Content-Length: 5\n',
    'Connection: keep-alive, Transfer-Encoding\n',
    'Connection: Content-Length\n',
  ])('rejects GET with the header %j', async (headers) => {
    expect(await get('/', headers)).toContain('INVALID_REQUEST');
  });

  it('reports all errors of a request together', async () => {
    const names = 'X_A: 1\nHost: y\nx_a: 2\nHost: z\nAge: 1\nAge: 2\nX_B: 3\n';
    const raw = `GET /%2f HTTP/1.1\nHost: a b\n${names}Connection: host\nContent-Length: 1\n\nb`;
    expect(await send(raw)).toContain('INVALID_REQUEST');
    expect(faults).toEqual([
      { path: 'header.x_a', message: 'must not have an underscore in its name' },
      { path: 'header.Host', message: 'must be given only once' },
      { path: 'header.Age', message: 'must be given only once' },
      { path: 'header.X_B', message: 'must not have an underscore in its name' },
      { path: 'path', message: 'must not hold encoded dots, slashes, backslashes or zero bytes' },
      { path: 'header.Host', message: 'must be a host' },
      { path: 'header.Connection', message: 'must not name headers that frame the request' },
      { path: 'body', message: 'must not come with GET' },
    ]);
  });

  it('reports at most 20 header names', async () => {
    const names = Array.from({ length: 99 }, (_, number) => `a_${number}: \n`).join('');
    expect(await get('/', names)).toContain('INVALID_REQUEST');
    expect(faults).toHaveLength(20);
  });

  it('rejects more than 100 headers, and more than 20 options of Connection', async () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `a${index}: \n`).join('');
    expect(await get('/', names(99))).toContain('passed');
    for (const count of [100, 900]) expect(await get('/', names(count))).toContain('HEADERS_TOO_LARGE');
    expect(await get('/', `Connection: ${'b,'.repeat(19)}b\n`)).toContain('passed');
    for (const options of [`Connection: ${'b,'.repeat(20)}b\n`, 'Connection: b,\n'.repeat(11)]) {
      expect(await get('/', options)).toContain('HEADERS_TOO_LARGE');
    }
  });

  it('rejects a request without a Host', async () => {
    expect(await send('GET / HTTP/1.1\nConnection: close\n\n')).toContain('INVALID_REQUEST');
  });

  it.each(['gzip, chunked', 'Chunked', 'identity, chunked'])('rejects Transfer-Encoding: %s', async (encoding) => {
    expect(await send(`POST / HTTP/1.1\nHost: x\nTransfer-Encoding: ${encoding}\n\n0\n\n`)).toContain(
      'INVALID_REQUEST',
    );
  });

  it('rejects Transfer-Encoding in HTTP/1.0', async () => {
    const raw = 'POST / HTTP/1.0\nHost: x\nTransfer-Encoding: chunked\n\n0\n\n';
    expect(await send(raw)).not.toContain('passed');
  });

  it('allows a chunked body and one of 64 KiB, and rejects a larger Content-Length', async () => {
    const post = (headers: string) => send(`POST / HTTP/1.1\nHost: x\n${headers}\n\n`);
    expect(await post('Transfer-Encoding: chunked')).toContain('passed');
    expect(await post('Content-Length: 65536')).toContain('passed');
    expect(await post('Content-Length: 65537')).toContain('PAYLOAD_TOO_LARGE');
  });
});

it('a target that PLAIN_TARGET matches contains nothing that is rejected', () => {
  const random = seededRandom(1);
  const characters = [
    '/',
    '/',
    'a',
    'Z',
    '0',
    '_',
    '-',
    '.',
    '..',
    '~',
    ':',
    '@',
    '=',
    '&',
    ',',
    '?',
    '%2e',
    '%',
    '\\',
    '#',
  ];
  const others = [' ', '\t', '\n', '\u0000', '\u007f', 'é', ';', '+', '*', "'", '(', '[', '"'];
  let passed = 0;
  for (let round = 0; round < 20_000; round++) {
    const pool = round % 2 === 0 ? characters : [...characters, ...others];
    const parts = Array.from({ length: wholeNumber(random, 8) }, () => pool[wholeNumber(random, pool.length)]);
    const target = `/${parts.join('')}`;
    if (!PLAIN_TARGET.test(target)) continue;
    passed++;
    const [path = ''] = target.split('?');
    expect(target).toMatch(/^[!-~]+$/);
    expect(target).not.toMatch(/[%\\#]/);
    expect(path.split('/')).not.toContain('.');
    expect(path.split('/')).not.toContain('..');
  }
  expect(passed).toBeGreaterThan(300);
});
