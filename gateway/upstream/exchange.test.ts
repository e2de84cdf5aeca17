import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { sendRaw, wire } from '#test/network/raw-http.ts';
import { NEVER, proxyTo } from './fixtures/proxy.ts';

/** A service that responds with the given bytes, and records the requested paths and their connections. */
function bytesFor(responseTo: (path: string, socket: Socket) => string) {
  const requested: string[] = [];
  const sockets: Socket[] = [];
  const service = createServer((request) => {
    requested.push(request.url ?? '');
    if (!sockets.includes(request.socket)) sockets.push(request.socket);
    request.socket.write(wire(responseTo(request.url ?? '', request.socket)), 'latin1');
  });
  return { service, requested, sockets };
}

const ok = (body: string, lines = '') => `HTTP/1.1 200 OK\n${lines}content-length: ${body.length}\n\n${body}`;

test.each([
  ['a forbidden byte in a header', 'HTTP/1.1 200 Fine\na: \x01\ncontent-length: 1\n\na'],
  ['a forbidden byte in its reason', 'HTTP/1.1 200 Fi\x01ne\ncontent-length: 1\n\na'],
  ['a forbidden name of a header', 'HTTP/1.1 200 Fine\na b: c\ncontent-length: 1\n\na'],
  ['two lengths', 'HTTP/1.1 200 Fine\ncontent-length: 1\ncontent-length: 2\n\nab'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\nconnection: upgrade\nupgrade: a\n\n'],
])('a response with %s becomes a 503 that shows nothing of it', async (_fault, bytes) => {
  const { service, requested } = bytesFor((path) => (path === '/bad' ? bytes : ok('here')));
  const { url, status, retries } = await proxyTo(service, NEVER);
  const received = await sendRaw(url.replace('http://', ''), 'GET /bad HTTP/1.1\nhost: x\nconnection: close\n\n');
  expect(received.split('\r\n')[0]).toBe('HTTP/1.1 503 Service Unavailable');
  expect(await status('/')).toBe(200);
  expect([requested, await retries()]).toEqual([['/bad', '/'], 0]);
});

test('a connection that cannot be opened is a 503', async () => {
  const { service, requested } = bytesFor(() => ok('here'));
  const { proxy, status } = await proxyTo(service, NEVER);
  await proxy.stop();
  expect(await status('/')).toBe(503);
  expect(requested).toEqual([]);
});

test('stopping the proxy ends requests in flight with 503', async () => {
  const requested = Promise.withResolvers<void>();
  const { proxy, status } = await proxyTo(
    createServer(() => requested.resolve()),
    NEVER,
  );
  const outcome = status('/');
  await requested.promise;
  await proxy.stop();
  expect(await outcome).toBe(503);
});

test('bytes after the end of a response reach neither its client nor the next one', async () => {
  const { service, sockets } = bytesFor((path) => (path === '/split' ? ok('mine') + ok('poison') : ok(path)));
  const { url } = await proxyTo(service, NEVER);
  const split = await fetch(`${url}/split`);
  expect([split.status, await split.text()]).toEqual([503, expect.not.stringMatching(/mine|poison/)]);
  expect(await (await fetch(`${url}/next`)).text()).toBe('/next');
  expect(sockets).toHaveLength(2);
  await expect.poll(() => sockets[0]?.destroyed).toBe(true);
});

test('an idle connection on which a service sends bytes is closed, and no client notices', async () => {
  const { service, sockets } = bytesFor((path) => ok(path));
  const { url } = await proxyTo(service, NEVER);
  expect(await (await fetch(`${url}/first`)).text()).toBe('/first');
  const [socket] = sockets as [Socket];
  const closed = once(socket, 'close');
  socket.write(wire(ok('poison')));
  await closed;
  expect(await (await fetch(`${url}/next`)).text()).toBe('/next');
  expect(sockets).toHaveLength(2);
});

test.each([
  ['with Connection: close', 'connection: close\n'],
  ['without Connection: close', ''],
])('no request to a service that closes its connection after each response %s is lost', async (_how, line) => {
  const { service, requested, sockets } = bytesFor((path, socket) => {
    // In the same turn as the response.
    setImmediate(() => socket.end());
    return ok(path, line);
  });
  const { url } = await proxyTo(service, NEVER);
  const paths = Array.from({ length: 30 }, (_, index) => `/${index}`);
  for (const path of paths) expect(await (await fetch(url + path)).text()).toBe(path);
  expect(requested).toEqual(paths);
  expect(sockets).toHaveLength(paths.length);
});

/** The most bytes that Node reads at a time, and the size of a socket's write buffer. */
const BUFFER_BYTES = 64 * 1024;

test('a client that reads the end of its response slowly does not delay the next request of the connection', async () => {
  const bodyBytes = 2 * BUFFER_BYTES - wire(ok('')).length - '13107'.length;
  const { service, sockets } = bytesFor((path) => ok(path === '/large' ? 'x'.repeat(bodyBytes) : path));
  const { url } = await proxyTo(service, NEVER);
  for (let count = 0; count < 20; count++) {
    expect((await (await fetch(`${url}/large`)).text()).length).toBe(bodyBytes);
    expect(await (await fetch(`${url}/next`)).text()).toBe('/next');
  }
  expect(sockets).toHaveLength(1);
});

test('a body in many tiny pieces does not leak listeners', async () => {
  const warnings: string[] = [];
  const warned = ({ message }: Error) => void warnings.push(message);
  process.on('warning', warned);
  const pieces = `HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n${'1\na\n'.repeat(2 * BUFFER_BYTES)}0\n\n`;
  const { service } = bytesFor(() => pieces);
  const { url } = await proxyTo(service, NEVER);
  expect((await (await fetch(url)).text()).length).toBe(2 * BUFFER_BYTES);
  process.off('warning', warned);
  expect(warnings).toEqual([]);
});
