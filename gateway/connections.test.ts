import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { listening } from '#test/listening.ts';
import { Connections } from './connections.ts';

const closers: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).toReversed()) close();
});

/** A service that tells by which connection a request came, the first being 0. */
async function service() {
  const sockets: Socket[] = [];
  const server = createServer((request, response) => {
    if (!sockets.includes(request.socket)) sockets.push(request.socket);
    const answer = () => response.end(String(sockets.indexOf(request.socket)));
    if (request.url === '/slow') request.once('answer', answer);
    else answer();
    held.push(() => request.emit('answer'));
  });
  const held: (() => void)[] = [];
  const { url, close } = await listening(server);
  const connections = new Connections(url);
  closers.push(close, () => connections.close());
  return { sockets, held, connections };
}

/** The whole answer to a GET; its connection is free again, or broken off where it failed. */
function get(connections: Connections, path = '/'): Promise<string> {
  return new Promise((resolve, reject) => {
    let body = '';
    const client = connections.take();
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: (_controller, chunk) => void (body += chunk.toString()),
      onResponseEnd: () => {
        connections.release(client);
        resolve(body);
      },
      onResponseError: (_controller, error) => {
        connections.discard(client);
        reject(error);
      },
    };
    connections.get(client, path, { host: 'caller.example' }, handler);
  });
}

test('each request has a connection of its own, and free ones are used in turn', async () => {
  const { sockets, held, connections } = await service();
  const both = [get(connections, '/slow'), get(connections, '/slow')];
  await expect.poll(() => held).toHaveLength(2);
  for (const answer of held) answer();
  expect((await Promise.all(both)).toSorted()).toEqual(['0', '1']);
  const used: string[] = [];
  for (let request = 0; request < 4; request++) used.push(await get(connections));
  expect(used.slice(0, 2).toSorted()).toEqual(['0', '1']);
  expect(used.slice(2)).toEqual(used.slice(0, 2));
  expect(sockets).toHaveLength(2);
});

test('a connection that the service closes while it is free is not used again, nor made anew in its place', async () => {
  const { sockets, held, connections } = await service();
  const all = Array.from({ length: 3 }, () => get(connections, '/slow'));
  await expect.poll(() => held).toHaveLength(3);
  for (const answer of held) answer();
  await Promise.all(all);
  const closed = sockets.map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.end();
  await Promise.all(closed);
  // What has just been closed may still be tried once; from then on one connection serves them all.
  await get(connections).catch(() => undefined);
  const used = new Set<string>();
  for (let request = 0; request < 6; request++) used.add(await get(connections));
  expect(used.size).toBe(1);
});

test('a connection that is broken off is not used again', async () => {
  const { sockets, held, connections } = await service();
  const lost = get(connections, '/slow');
  await expect.poll(() => held).toHaveLength(1);
  sockets[0]?.resetAndDestroy();
  await expect(lost).rejects.toThrow(/closed|reset/i);
  expect(await get(connections)).toBe('1');
});
