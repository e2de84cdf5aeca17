import { createServer, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { UnreadClient } from '#test/failure/unread-client.ts';
import { AT_ONCE, NEVER, proxyTo } from '../upstream/fixtures/proxy.ts';

test.each([
  ['with a length', { 'content-length': '256' }],
  ['in chunks', {}],
])('a response %s arrives unchanged, with its status and headers', async (_framing, headers) => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const service = createServer((_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.writeHead(418, 'Short and stout', { 'x-kept': 'é', 'keep-alive': 'timeout=7', ...headers });
    response.end(bytes);
  });
  const { url } = await proxyTo(service, NEVER);
  const relayed = await fetch(url);
  expect([relayed.status, relayed.statusText, relayed.headers.get('x-kept')]).toEqual([418, 'Short and stout', 'é']);
  expect(relayed.headers.get('keep-alive')).not.toBe('timeout=7');
  expect(Buffer.from(await relayed.arrayBuffer())).toEqual(bytes);
});

const CHUNK = 64 * 1024;
/** More than all buffers between service and client can hold. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Writes for as long as the client reads. Calls `wrote` with the size of each piece. */
function respondEndlessly(response: ServerResponse, wrote: (bytes: number) => void = () => undefined): void {
  let written = 0;
  const fill = () => {
    for (let isWritable = true; isWritable && written < MAX_BYTES; written += CHUNK) {
      isWritable = response.write(Buffer.alloc(CHUNK));
      wrote(CHUNK);
    }
  };
  response.on('drain', fill);
  fill();
}

test('backpressure of a slow client reaches the service, and a client that disconnects ends the response', async () => {
  let written = 0;
  const ended: string[] = [];
  const service = createServer((request, response) => {
    response.on('close', () => ended.push(request.url ?? ''));
    respondEndlessly(response, (bytes) => (written += bytes));
  });
  // A timeout long enough that the client is not disconnected for not reading.
  const { url } = await proxyTo(service, NEVER, undefined, 60_000);
  const leaving = new AbortController();
  const response = await fetch(`${url}/endless`, { signal: leaving.signal });
  let before = -1;
  await expect.poll(() => before === (before = written), { interval: 200 }).toBe(true);
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThan(MAX_BYTES);
  leaving.abort();
  await expect(response.arrayBuffer()).rejects.toThrow('aborted');
  await expect.poll(() => ended).toEqual(['/endless']);
});

test('a client that does not read is disconnected, which does not count as a failure of the service', async () => {
  const ended: string[] = [];
  const service = createServer((request, response) => {
    if (request.url === '/here') {
      response.end();
      return;
    }
    response.on('close', () => ended.push(request.url ?? ''));
    respondEndlessly(response);
  });
  const { url, status, breaker } = await proxyTo(service, AT_ONCE, undefined, 1_000);
  await Promise.all([fetch(`${url}/one`), fetch(`${url}/two`)]);
  await expect.poll(() => ended.toSorted()).toEqual(['/one', '/two']);
  expect(breaker?.isOpen).toBe(false);
  expect(await status('/here')).toBe(200);
});

test.each([
  ['GET', ''],
  ['POST', 'content-length: 2\r\n\r\n{}'],
])(
  'a complete response to a %s that its client does not read counts as a success of the service',
  async (method, rest) => {
    const timeoutMs = 500;
    const service = createServer((request, response) => {
      request.resume();
      // Within the timeout, but four of them take longer than the timeout of the unread responses.
      if (request.url === '/slow') setTimeout(() => response.end('here'), timeoutMs / 2);
      else response.end(Buffer.alloc(60_000));
    });
    const { url, status, breaker } = await proxyTo(service, AT_ONCE, undefined, timeoutMs);
    const client = await UnreadClient.open(new URL(url).host, '127.0.0.1');
    await client.fill(() => `${method} / HTTP/1.1\r\nhost: x\r\n${rest || '\r\n'}`);
    for (let count = 0; count < 4; count++) expect(await status('/slow')).toBe(200);
    expect([breaker?.isOpen, client.serverSide.destroyed]).toEqual([false, false]);
    client.destroy();
  },
);

test.each([
  ['with a length', { 'content-length': '100' }],
  ['in chunks', {}],
])('a response %s that the service cuts off is cut off for the client too', async (_framing, headers) => {
  const service = createServer((_request, response) => {
    response.writeHead(200, headers);
    response.write('the first half', () => response.socket?.resetAndDestroy());
  });
  const { url } = await proxyTo(service, NEVER);
  for (const method of ['GET', 'POST']) {
    const response = await fetch(url, { method, signal: AbortSignal.timeout(5_000) });
    await expect(response.text()).rejects.toThrow('terminated');
  }
});

test.each([
  ['with a length', { 'content-length': '100' }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
  ['without a length', {}],
])('the response to a HEAD %s has no body, and its connection is used again', async (_framing, headers) => {
  let connections = 0;
  const service = createServer((_request, response) => void response.writeHead(200, headers).end());
  service.on('connection', () => connections++);
  const { url } = await proxyTo(service, NEVER);
  for (let request = 0; request < 5; request++) {
    const response = await fetch(url, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(response.headers.get('content-length')).toBe('content-length' in headers ? '100' : null);
  }
  expect(connections).toBe(1);
});

test.each(['GET', 'POST'])(
  'a response to a %s that the service does not complete counts as its failure',
  async (method) => {
    const service = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-length': '100' });
      response.write('the first half', () => response.socket?.resetAndDestroy());
    });
    const { url, breaker } = await proxyTo(service, AT_ONCE);
    const response = await fetch(url, { method });
    await expect(response.text()).rejects.toThrow('terminated');
    await expect.poll(() => breaker?.isOpen).toBe(true);
  },
);

test.each([
  ['GETs', {}],
  ['POSTs with a body', { method: 'POST', body: '{}' }],
])('sequential %s use one connection to the service', async (_what, init) => {
  let connections = 0;
  const service = createServer((request, response) => void request.resume().on('end', () => response.end('here')));
  service.on('connection', () => connections++);
  const { status } = await proxyTo(service, NEVER);
  for (let request = 0; request < 10; request++) expect(await status('/', init)).toBe(200);
  expect(connections).toBe(1);
});
