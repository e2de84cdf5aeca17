import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { sendRaw, wire } from '#test/network/raw-http.ts';
import { NEVER, proxyTo } from '../fixtures/proxied.ts';

/** A service that answers each request with these bytes, and tells what was asked and over which connections. */
function bytesFor(answerTo: (path: string, socket: Socket) => string) {
  const asked: string[] = [];
  const sockets: Socket[] = [];
  const service = createServer((request) => {
    asked.push(request.url ?? '');
    if (!sockets.includes(request.socket)) sockets.push(request.socket);
    request.socket.write(wire(answerTo(request.url ?? '', request.socket)), 'latin1');
  });
  return { service, asked, sockets };
}

const answer = (body: string, lines = '') => `HTTP/1.1 200 OK\n${lines}content-length: ${body.length}\n\n${body}`;

test.each([
  ['a forbidden byte in a header', 'HTTP/1.1 200 Fine\na: \x01\ncontent-length: 1\n\na'],
  ['a forbidden byte in its reason', 'HTTP/1.1 200 Fi\x01ne\ncontent-length: 1\n\na'],
  ['a forbidden name of a header', 'HTTP/1.1 200 Fine\na b: c\ncontent-length: 1\n\na'],
  ['two lengths', 'HTTP/1.1 200 Fine\ncontent-length: 1\ncontent-length: 2\n\nab'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\nconnection: upgrade\nupgrade: a\n\n'],
])('an answer with %s is told as a 503 that shows nothing of it', async (_what, bytes) => {
  const { service, asked } = bytesFor((path) => (path === '/bad' ? bytes : answer('here')));
  const { url, status, retries } = await proxyTo(service, NEVER);
  const told = await sendRaw(url.replace('http://', ''), 'GET /bad HTTP/1.1\nhost: x\nconnection: close\n\n');
  expect(told.split('\r\n')[0]).toBe('HTTP/1.1 503 Service Unavailable');
  expect(await status('/')).toBe(200);
  expect([asked, await retries()]).toEqual([['/bad', '/'], 0]);
});

test('a connection that can not even be begun is a 503', async () => {
  const { service, asked } = bytesFor(() => answer('here'));
  const { proxy, status } = await proxyTo(service, NEVER);
  await proxy.stop();
  expect(await status('/')).toBe(503);
  expect(asked).toEqual([]);
});

test('a stop breaks off what is under way', async () => {
  const asked = Promise.withResolvers<void>();
  const { proxy, status } = await proxyTo(
    createServer(() => asked.resolve()),
    NEVER,
  );
  const told = status('/');
  await asked.promise;
  await proxy.stop();
  expect(await told).toBe(503);
});

test('what comes behind an answer in one piece with it reaches neither its caller nor the next one', async () => {
  const { service, sockets } = bytesFor((path) =>
    path === '/split' ? answer('mine') + answer('poison') : answer(path),
  );
  const { url } = await proxyTo(service, NEVER);
  const split = await fetch(`${url}/split`);
  expect([split.status, await split.text()]).toEqual([503, expect.not.stringMatching(/mine|poison/)]);
  expect(await (await fetch(`${url}/next`)).text()).toBe('/next');
  expect(sockets).toHaveLength(2);
  await expect.poll(() => sockets[0]?.destroyed).toBe(true);
});

test('a free connection on which a service says anything is closed, and nobody is told of that', async () => {
  const { service, sockets } = bytesFor((path) => answer(path));
  const { url } = await proxyTo(service, NEVER);
  expect(await (await fetch(`${url}/first`)).text()).toBe('/first');
  const [socket] = sockets as [Socket];
  const closed = once(socket, 'close');
  socket.write(wire(answer('poison')));
  await closed;
  expect(await (await fetch(`${url}/next`)).text()).toBe('/next');
  expect(sockets).toHaveLength(2);
});

test.each([
  ['and says so', 'connection: close\n'],
  ['without a word', ''],
])('of a service that ends its connection after each answer %s no request is lost', async (_how, line) => {
  const { service, asked, sockets } = bytesFor((path, socket) => {
    // In the same turn as the answer.
    setImmediate(() => socket.end());
    return answer(path, line);
  });
  const { url } = await proxyTo(service, NEVER);
  const paths = Array.from({ length: 30 }, (_, index) => `/${index}`);
  for (const path of paths) expect(await (await fetch(url + path)).text()).toBe(path);
  expect(asked).toEqual(paths);
  expect(sockets).toHaveLength(paths.length);
});

/** What Node reads from a connection at once, and as much as makes a writer wait. */
const AT_ONCE = 64 * 1024;

test('a caller that is slow at the end of its answer holds nobody up who has its connection next', async () => {
  const bodyBytes = 2 * AT_ONCE - wire(answer('')).length - '13107'.length;
  const { service, sockets } = bytesFor((path) => answer(path === '/large' ? 'x'.repeat(bodyBytes) : path));
  const { url } = await proxyTo(service, NEVER);
  for (let count = 0; count < 20; count++) {
    expect((await (await fetch(`${url}/large`)).text()).length).toBe(bodyBytes);
    expect(await (await fetch(`${url}/next`)).text()).toBe('/next');
  }
  expect(sockets).toHaveLength(1);
});

test('a body in many tiny pieces leaves no listeners behind', async () => {
  const warnings: string[] = [];
  const warned = ({ message }: Error) => void warnings.push(message);
  process.on('warning', warned);
  const pieces = `HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n${'1\na\n'.repeat(2 * AT_ONCE)}0\n\n`;
  const { service } = bytesFor(() => pieces);
  const { url } = await proxyTo(service, NEVER);
  expect((await (await fetch(url)).text()).length).toBe(2 * AT_ONCE);
  process.off('warning', warned);
  expect(warnings).toEqual([]);
});
