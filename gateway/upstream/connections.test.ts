import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { HttpServer } from '#kit/http/server.ts';
import { InternalTls } from '#kit/security/internal-tls.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { Authority, writeTlsFiles } from '#test/network/certificates.ts';
import { listening } from '#test/network/listening.ts';
import { Connections, MAX_AGE_MS, MAX_IDLE, MIN_AGE_MS, randomExpiry } from './connections.ts';

const closers: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).toReversed()) close();
});

/** A service that responds with the number of the request's connection, from 0. */
async function service(expiry?: () => number) {
  const sockets: Socket[] = [];
  const server = createServer((request, response) => {
    if (!sockets.includes(request.socket)) sockets.push(request.socket);
    const respond = () => response.end(String(sockets.indexOf(request.socket)));
    if (request.url === '/slow') request.once('respond', respond);
    else respond();
    held.push(() => request.emit('respond'));
  });
  const held: (() => void)[] = [];
  const { url, close } = await listening(server);
  const connections = new Connections(url, undefined, expiry);
  closers.push(close, () => connections.close());
  return { sockets, held, connections, url };
}

/** Sends a GET and returns the response body. The connection returns to the pool, or is closed if the request failed. */
function get(connections: Connections, path = '/', host = 'client.example'): Promise<string> {
  return new Promise((resolve, reject) => {
    let body = '';
    const connection = connections.take();
    connection.send(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`, {
      onHead: () => undefined,
      onPiece: (piece) => void (body += piece.toString()),
      onEnd: (whole) => {
        connections.release(connection);
        resolve(body + whole);
      },
      onFailure: (cause) => {
        connections.discard(connection);
        reject(cause);
      },
    });
  });
}

test('concurrent requests use separate connections, and the one idle longest is used next', async () => {
  const { sockets, held, connections } = await service();
  const both = [get(connections, '/slow'), get(connections, '/slow')];
  await expect.poll(() => held).toHaveLength(2);
  for (const respond of held) respond();
  expect((await Promise.all(both)).toSorted()).toEqual(['0', '1']);
  const used: string[] = [];
  for (let request = 0; request < 4; request++) used.push(await get(connections));
  expect(used.slice(0, 2).toSorted()).toEqual(['0', '1']);
  expect(used.slice(2)).toEqual(used.slice(0, 2));
  expect(sockets).toHaveLength(2);
});

test('an idle connection that the service closes is not used again and not replaced', async () => {
  const { sockets, held, connections } = await service();
  const all = Array.from({ length: 3 }, () => get(connections, '/slow'));
  await expect.poll(() => held).toHaveLength(3);
  for (const respond of held) respond();
  await Promise.all(all);
  const closed = sockets.map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.end();
  await Promise.all(closed);
  // A connection that was just closed may still be tried once. Afterwards one connection serves all requests.
  await get(connections).catch(() => undefined);
  const used = new Set<string>();
  for (let request = 0; request < 6; request++) used.add(await get(connections));
  expect(used.size).toBe(1);
});

test('an expired connection is replaced: after its response, or before it is used again', async () => {
  let expiresAt = Number.POSITIVE_INFINITY;
  const { sockets, held, connections } = await service(() => expiresAt);
  expect(await get(connections)).toBe('0');
  // The expired connection is closed when its response has ended.
  expiresAt = performance.now();
  const slow = [get(connections, '/slow'), get(connections, '/slow')];
  await expect.poll(() => held).toHaveLength(3);
  for (const respond of held) respond();
  expect((await Promise.all(slow)).toSorted()).toEqual(['0', '1']);
  await expect.poll(() => sockets[1]?.destroyed).toBe(true);
  expect(sockets[0]?.destroyed).toBe(false);
  // The connection expires while it is idle.
  expiresAt = performance.now() + 50;
  const both = [get(connections, '/slow'), get(connections, '/slow')];
  await expect.poll(() => held).toHaveLength(5);
  for (const respond of held) respond();
  expect((await Promise.all(both)).toSorted()).toEqual(['0', '2']);
  await expect.poll(() => performance.now()).toBeGreaterThan(expiresAt);
  expiresAt = Number.POSITIVE_INFINITY;
  expect([await get(connections), await get(connections)]).toEqual(['0', '0']);
  await expect.poll(() => sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, true]);
});

test('each connection has a random maximum age', () => {
  const ages = Array.from({ length: 1_000 }, () => randomExpiry() - performance.now());
  expect(Math.min(...ages)).toBeGreaterThan(MIN_AGE_MS - 1_000);
  expect(Math.max(...ages)).toBeLessThanOrEqual(MAX_AGE_MS);
  expect(Math.max(...ages) - Math.min(...ages)).toBeGreaterThan((MAX_AGE_MS - MIN_AGE_MS) / 2);
});

test('the number of idle connections is bounded', async () => {
  const { sockets, held, connections } = await service();
  const many = MAX_IDLE + 10;
  const all = Array.from({ length: many }, () => get(connections, '/slow'));
  await expect.poll(() => held).toHaveLength(many);
  for (const respond of held) respond();
  await Promise.all(all);
  await expect.poll(() => sockets.filter(({ destroyed }) => !destroyed)).toHaveLength(MAX_IDLE);
});

test('requests with different Hosts share a connection over TLS', async () => {
  const files = mkdtempSync(join(tmpdir(), 'connections-'));
  const authority = new Authority('ours');
  const config = writeTlsFiles(files, authority.issue(), authority.cert);
  const tls = InternalTls.from(config, { metrics: new Metrics(), log: undefined });
  closers.push(() => rmSync(files, { recursive: true }));
  const server = new HttpServer({
    host: '127.0.0.1',
    port: 0,
    handler: (_request, response) => response.end('here'),
    tls,
  });
  let handshakes = 0;
  server.server.on('secureConnection', () => handshakes++);
  await server.start();
  const connections = new Connections(`https://${server.address}`, tls);
  closers.push(
    () => server.stop(),
    () => connections.close(),
  );
  for (let client = 0; client < 5; client++) expect(await get(connections, '/', `${client}.example`)).toBe('here');
  expect(handshakes).toBe(1);
});

test('a connection that was reset is not used again', async () => {
  const { sockets, held, connections } = await service();
  const lost = get(connections, '/slow');
  await expect.poll(() => held).toHaveLength(1);
  sockets[0]?.resetAndDestroy();
  await expect(lost).rejects.toThrow(/closed|reset/i);
  expect(await get(connections)).toBe('1');
});

test('a connection that is paused when its response ends is resumed for the next one', async () => {
  const { sockets, connections } = await service();
  const connection = connections.take();
  await new Promise<void>((resolve, reject) => {
    connection.send('GET / HTTP/1.1\r\nhost: client.example\r\n\r\n', {
      onHead: () => connection.pause(),
      onPiece: () => undefined,
      onEnd: () => resolve(connections.release(connection)),
      onFailure: reject,
    });
  });
  expect(await get(connections)).toBe('0');
  expect(sockets).toHaveLength(1);
});
