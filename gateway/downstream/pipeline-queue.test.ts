import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { listening } from '#test/network/listening.ts';
import { wire } from '#test/network/raw-http.ts';
import { Turns } from './pipeline-queue.ts';

const REQUEST = wire('GET / HTTP/1.1\nHost: x\n\n');
/** Of one client address; ten times as many wait in all. */
const SHARE = 5;
const MOST = 10 * SHARE;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server that answers what it is told to, and connections to it from the addresses 127.0.0.`n`. */
async function startServer() {
  const turns = new Turns(MOST);
  const begun: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const network = () => request.socket.remoteAddress ?? '';
    turns.take(request, response, { begin: () => begun.push(response), network });
  });
  const { url, close } = await listening(server);
  closers.push(close);
  const open = async (n = 1): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress: `127.0.0.${n}` });
    await once(socket, 'connect');
    socket.on('error', () => undefined).resume();
    return socket;
  };
  return { turns, begun, open };
}

test('a connection whose requests would wait is closed when too many of its address wait; others are not', async () => {
  const { turns, begun, open } = await startServer();
  const [one, other, third] = [await open(), await open(), await open()];
  one.write(REQUEST.repeat(4));
  await expect.poll(() => turns.waiting).toBe(3);
  other.write(REQUEST.repeat(3));
  await expect.poll(() => turns.waiting).toBe(SHARE);
  const cutOff = once(third, 'close');
  third.write(REQUEST.repeat(2));
  await cutOff;
  expect(begun).toHaveLength(3);
  expect([one.destroyed, other.destroyed, turns.waiting]).toEqual([false, false, SHARE]);
  const stranger = await open(2);
  stranger.write(REQUEST.repeat(2));
  await expect.poll(() => turns.waiting).toBe(SHARE + 1);
});

test('a connection whose requests would wait is closed when too many of all addresses wait', async () => {
  const { turns, open } = await startServer();
  for (let n = 1; n <= 10; n++) (await open(n)).write(REQUEST.repeat(SHARE + 1));
  await expect.poll(() => turns.waiting).toBe(MOST);
  const last = await open(11);
  const cutOff = once(last, 'close');
  last.write(REQUEST.repeat(2));
  await cutOff;
  expect(turns.waiting).toBe(MOST);
});

test('what waited no longer counts once it is answered, or its caller has gone', async () => {
  const { turns, begun, open } = await startServer();
  const [one, other] = [await open(), await open()];
  one.write(REQUEST.repeat(4));
  other.write(REQUEST.repeat(3));
  await expect.poll(() => turns.waiting).toBe(SHARE);
  other.resetAndDestroy();
  await expect.poll(() => turns.waiting).toBe(3);
  for (let waiting = 2; waiting >= 0; waiting -= 1) {
    for (const response of begun) response.end();
    await expect.poll(() => turns.waiting).toBe(waiting);
  }
});
