import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { listening } from '#test/network/listening.ts';
import { wire } from '#test/network/raw-http.ts';
import { PipelineQueue } from './pipeline-queue.ts';

const REQUEST = wire('GET / HTTP/1.1\nHost: x\n\n');
/** The maximum number of waiting requests of one client address, and of all. */
const SHARE = 5;
const MAX_WAITING = 10 * SHARE;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server whose responses are ended by the test, and connections to it from the addresses 127.0.0.`n`. */
async function startServer() {
  const queue = new PipelineQueue(MAX_WAITING);
  const begun: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const network = () => request.socket.remoteAddress ?? '';
    queue.take(request, response, { begin: () => begun.push(response), network });
  });
  const { url, close } = await listening(server);
  closers.push(close);
  const open = async (n = 1): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress: `127.0.0.${n}` });
    await once(socket, 'connect');
    socket.on('error', () => undefined).resume();
    return socket;
  };
  return { queue, begun, open };
}

test('a connection is closed if too many requests of its address would wait; other addresses are not affected', async () => {
  const { queue, begun, open } = await startServer();
  const [one, other, third] = [await open(), await open(), await open()];
  one.write(REQUEST.repeat(4));
  await expect.poll(() => queue.waiting).toBe(3);
  other.write(REQUEST.repeat(3));
  await expect.poll(() => queue.waiting).toBe(SHARE);
  const closed = once(third, 'close');
  third.write(REQUEST.repeat(2));
  await closed;
  expect(begun).toHaveLength(3);
  expect([one.destroyed, other.destroyed, queue.waiting]).toEqual([false, false, SHARE]);
  const stranger = await open(2);
  stranger.write(REQUEST.repeat(2));
  await expect.poll(() => queue.waiting).toBe(SHARE + 1);
});

test('a connection is closed if too many requests of all addresses would wait', async () => {
  const { queue, open } = await startServer();
  for (let n = 1; n <= 10; n++) (await open(n)).write(REQUEST.repeat(SHARE + 1));
  await expect.poll(() => queue.waiting).toBe(MAX_WAITING);
  const last = await open(11);
  const closed = once(last, 'close');
  last.write(REQUEST.repeat(2));
  await closed;
  expect(queue.waiting).toBe(MAX_WAITING);
});

test('a waiting request no longer counts once it begins or its client disconnects', async () => {
  const { queue, begun, open } = await startServer();
  const [one, other] = [await open(), await open()];
  one.write(REQUEST.repeat(4));
  other.write(REQUEST.repeat(3));
  await expect.poll(() => queue.waiting).toBe(SHARE);
  other.resetAndDestroy();
  await expect.poll(() => queue.waiting).toBe(3);
  for (let waiting = 2; waiting >= 0; waiting -= 1) {
    for (const response of begun) response.end();
    await expect.poll(() => queue.waiting).toBe(waiting);
  }
});
