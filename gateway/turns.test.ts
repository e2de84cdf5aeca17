import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { listening } from '#test/listening.ts';
import { openSocket, wire } from '#test/raw-http.ts';
import { Turns } from './turns.ts';

const REQUEST = wire('GET / HTTP/1.1\nHost: x\n\n');
const MOST = 5;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server that answers what it is told to, and connections to it. */
async function startServer() {
  const turns = new Turns(MOST);
  const begun: ServerResponse[] = [];
  const server = createServer((request, response) => {
    turns.take(request, response, { begin: () => begun.push(response), over: () => undefined });
  });
  const { url, close } = await listening(server);
  closers.push(close);
  const open = async (): Promise<Socket> => {
    const socket = await openSocket(new URL(url).host);
    socket.on('error', () => undefined).resume();
    return socket;
  };
  return { turns, begun, open };
}

test('a connection whose requests would wait is cut off when too many wait on all together', async () => {
  const { turns, begun, open } = await startServer();
  const [one, other, third] = [await open(), await open(), await open()];
  one.write(REQUEST.repeat(4));
  await expect.poll(() => turns.waiting).toBe(3);
  other.write(REQUEST.repeat(3));
  await expect.poll(() => turns.waiting).toBe(MOST);
  const cutOff = once(third, 'close');
  third.write(REQUEST.repeat(2));
  await cutOff;
  expect(begun).toHaveLength(3);
  expect([one.destroyed, other.destroyed, turns.waiting]).toEqual([false, false, MOST]);
});

test('what waited no longer counts once it is answered, or its caller has gone', async () => {
  const { turns, begun, open } = await startServer();
  const [one, other] = [await open(), await open()];
  one.write(REQUEST.repeat(4));
  other.write(REQUEST.repeat(3));
  await expect.poll(() => turns.waiting).toBe(MOST);
  other.resetAndDestroy();
  await expect.poll(() => turns.waiting).toBe(3);
  for (let waiting = 2; waiting >= 0; waiting -= 1) {
    for (const response of begun) response.end();
    await expect.poll(() => turns.waiting).toBe(waiting);
  }
});
