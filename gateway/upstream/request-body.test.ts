import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { BODY_LIMIT } from '#kit/http/body.ts';
import { sendRaw, wire } from '#test/network/raw-http.ts';
import { AT_ONCE, NEVER, proxyTo } from './fixtures/proxy.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A service that records all requests with their bodies. */
function recorder() {
  const received: { method: string; framing: (string | undefined)[]; body: Buffer }[] = [];
  const service = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      received.push({ method: request.method ?? '', framing: framingOf(request), body: Buffer.concat(pieces) });
      response.end('here');
    });
  });
  return { service, received };
}

const framingOf = ({ headers }: IncomingMessage) => [headers['content-length'], headers['transfer-encoding']];

/** Opens a connection and sends the beginning of a request. */
async function begin(url: string, lines: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  sockets.push(socket.on('error', () => undefined));
  await once(socket, 'connect');
  socket.write(wire(`POST / HTTP/1.1\nhost: x\nconnection: close\n${lines}\n`));
  return socket;
}

const ALL_BYTES = Buffer.from(Array.from({ length: BODY_LIMIT }, (_, index) => index % 256));
const CHUNKED = 'transfer-encoding: chunked\n';
const chunk = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('the largest allowed body of a %s arrives unchanged', async (method) => {
  const { service, received } = recorder();
  const { status } = await proxyTo(service, NEVER);
  expect(await status('/', { method, body: ALL_BYTES })).toBe(200);
  expect(received).toEqual([{ method, framing: [String(BODY_LIMIT), undefined], body: ALL_BYTES }]);
});

test.each([
  ['in one chunk', BODY_LIMIT],
  ['in chunks of 1,000 bytes', 1_000],
  ['in chunks of one byte', 1],
])('the largest allowed body %s arrives unchanged, with its length', async (_how, size) => {
  const { service, received } = recorder();
  const { url } = await proxyTo(service, NEVER);
  const client = await begin(url, CHUNKED);
  for (let at = 0; at < ALL_BYTES.length; at += size) client.write(chunk(ALL_BYTES.subarray(at, at + size)));
  client.write(LAST_CHUNK);
  expect((await buffer(client)).toString()).toMatch(/^HTTP\/1\.1 200 /);
  expect(received).toEqual([{ method: 'POST', framing: [String(BODY_LIMIT), undefined], body: ALL_BYTES }]);
});

test('a body whose chunks arrive one by one is sent to the service when it is complete', async () => {
  const { service, received } = recorder();
  let connections = 0;
  service.on('connection', () => connections++);
  const { url } = await proxyTo(service, NEVER);
  const client = await begin(url, CHUNKED);
  for (const byte of ALL_BYTES.subarray(0, 300)) {
    client.write(chunk(Buffer.from([byte])));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect([received, connections]).toEqual([[], 0]);
  client.write(LAST_CHUNK);
  expect((await buffer(client)).toString()).toMatch(/^HTTP\/1\.1 200 /);
  expect(received).toEqual([{ method: 'POST', framing: ['300', undefined], body: ALL_BYTES.subarray(0, 300) }]);
});

test('a chunked body that exceeds the limit by one byte gets 413, and no service receives it', async () => {
  const { service, received } = recorder();
  const { url } = await proxyTo(service, NEVER);
  const client = await begin(url, CHUNKED);
  client.write(chunk(ALL_BYTES));
  client.write(chunk(Buffer.from('x')));
  const [head] = (await once(client, 'data')) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 413 /);
  expect(received).toEqual([]);
});

test.each([
  ['POST', CHUNKED, '0\n\n'],
  ['DELETE', CHUNKED, '0\n\n'],
  ['POST', 'content-length: 0\n', ''],
  ['POST', '', ''],
  ['DELETE', '', ''],
])('an empty body of a %s with the framing %j is sent with the length 0', async (method, lines, body) => {
  const { service, received } = recorder();
  const { url } = await proxyTo(service, NEVER);
  const text = `${method} / HTTP/1.1\nhost: x\nconnection: close\n${lines}\n${body}`;
  expect(await sendRaw(url.replace('http://', ''), text)).toMatch(/^HTTP\/1\.1 200 /);
  expect(received).toEqual([{ method, framing: ['0', undefined], body: Buffer.alloc(0) }]);
});

test('a client that sends nothing more of its body gets 408, and its service has not failed', async () => {
  const { service, received } = recorder();
  const { url, breaker } = await proxyTo(service, AT_ONCE, undefined, 200);
  const client = await begin(url, 'content-length: 2\n');
  client.write('{');
  const [head] = (await once(client, 'data')) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 408 /);
  expect([received, breaker?.isOpen]).toEqual([[], false]);
});

test('a client that disconnects before its body is complete reaches no service, which has not failed', async () => {
  const { service, received } = recorder();
  const { front, url, status, breaker } = await proxyTo(service, AT_ONCE);
  const arrived = once(front, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  const client = await begin(url, 'content-length: 2\n');
  const [, pending] = await arrived;
  const closed = once(pending, 'close');
  client.write('{');
  client.resetAndDestroy();
  await closed;
  expect(await status('/')).toBe(200);
  expect([received.map(({ method }) => method), breaker?.isOpen]).toEqual([['GET'], false]);
});

test('while the breaker is open a request gets 503 before its body has arrived', async () => {
  const service = createServer((request) => request.socket.destroy());
  const { url, status, breaker } = await proxyTo(service, { ...AT_ONCE, openMs: 60_000 });
  expect(await status('/')).toBe(503);
  expect(breaker?.isOpen).toBe(true);
  const client = await begin(url, 'content-length: 2\n');
  const [head] = (await once(client, 'data')) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 503 /);
});

test('a service that responds before it reads the body has its response relayed', async () => {
  const service = createServer((_request, response) => response.writeHead(413, { connection: 'close' }).end('early'));
  const { url } = await proxyTo(service, NEVER);
  for (let count = 0; count < 20; count++) {
    const response = await fetch(url, { method: 'POST', body: ALL_BYTES });
    expect([response.status, await response.text()]).toEqual([413, 'early']);
  }
});

test.each([
  ['without a body', {}],
  ['with a body', { body: '{}', headers: { 'idempotency-key': 'one' } }],
])('a POST %s is not repeated if the service closes its keep-alive connection meanwhile', async (_what, init) => {
  const seen: string[] = [];
  const service = createServer((request, response) => {
    seen.push(request.url ?? '');
    if (request.url === '/first') response.end('here');
    else request.socket.destroy();
  });
  const { status, retries } = await proxyTo(service, NEVER);
  // Enough requests that a retry would be allowed.
  for (let count = 0; count < 20; count++) expect(await status('/first', { method: 'POST', ...init })).toBe(200);
  expect(await status('/second', { method: 'POST', ...init })).toBe(503);
  expect(seen.filter((path) => path === '/second')).toHaveLength(1);
  expect(await retries()).toBe(0);
});

test('a POST with a body that could not be sent is retried once', async () => {
  const { service } = recorder();
  const { status, retries } = await proxyTo(service, NEVER);
  for (let count = 0; count < 20; count++) expect(await status('/')).toBe(200);
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
  expect(await status('/', { method: 'POST', body: '{}' })).toBe(503);
  expect(await retries()).toBe(1);
});
