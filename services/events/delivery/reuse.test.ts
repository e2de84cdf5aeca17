import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createSender, post, response, serveRaw } from './fixture.ts';
import type { DeliveryResult } from './sender.ts';

/** Shorter than the time after which an idle connection is closed anyway. */
const SOON = { timeout: 5_000 };
const SMUGGLED = response('smuggled');
const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

test('deliveries to one host use one connection, one after the other', async () => {
  const server = await serveRaw((socket, count) => socket.write(response(`answer ${count}`)));
  const sender = createSender();
  for (const count of [0, 1, 2])
    expect(await post(sender, `http://hooks.example:${server.port}/`)).toMatchObject({ answer: `answer ${count}` });
  expect(server.connections).toBe(1);
});

test('a connection is never used for another host name, although the address is the same', async () => {
  const server = await serveRaw((socket) => socket.write(response('ok')));
  const sender = createSender();
  for (const host of ['a.example', 'b.example', '127.0.0.1', 'a.example', 'b.example', '127.0.0.1'])
    await post(sender, `http://${host}:${server.port}/`);
  expect(server.connections).toBe(3);
});

test('a request on a connection that the server has just closed is sent once more, on a new connection', async () => {
  const server = await serveRaw((socket, count) => (count === 1 ? socket.destroy() : socket.write(response('ok'))));
  const sender = createSender();
  const url = `http://hooks.example:${server.port}/`;
  await post(sender, url);
  expect(await post(sender, url)).toMatchObject({ status: 200, error: null });
  expect(server.connections).toBe(2);
  expect(server.received.match(/POST \//g)).toHaveLength(3);
});

test('the second attempt uses a new connection although another idle one is left', async () => {
  let isHolding = true;
  let isBroken = false;
  const held: Socket[] = [];
  const old = new Set<Socket>();
  const server = await serveRaw((socket) => {
    if (isBroken && old.has(socket)) return socket.destroy();
    old.add(socket);
    return isHolding ? held.push(socket) : socket.write(response('ok'));
  });
  const sender = createSender();
  const url = `http://hooks.example:${server.port}/`;
  const sending = [post(sender, url), post(sender, url)];
  await expect.poll(() => held.length).toBe(2);
  isHolding = false;
  for (const socket of held) socket.write(response('ok'));
  await Promise.all(sending);
  isBroken = true;
  expect(await post(sender, url)).toMatchObject({ status: 200 });
  expect(server.connections).toBe(3);
});

test('a request is sent at most twice, and only once on a new connection', async () => {
  const server = await serveRaw((socket, count) => (count === 0 ? socket.write(response('ok')) : socket.destroy()));
  const sender = createSender();
  const url = `http://hooks.example:${server.port}/`;
  await post(sender, url);
  expect(await post(sender, url)).toMatchObject({ error: 'connection closed' });
  expect(server.received.match(/POST \//g)).toHaveLength(3);
  expect(await post(sender, url)).toMatchObject({ error: 'connection closed' });
  expect(server.received.match(/POST \//g)).toHaveLength(4);
});

test('a connection is not used again after a response that asks to close it, or that was cut', async () => {
  const answers = [
    response('ok', 'HTTP/1.1 200 OK\r\nconnection: close'),
    response('ok', 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1'),
    'HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n',
  ];
  for (const answer of answers) {
    const server = await serveRaw((socket) =>
      socket.write(answer + 'a'.repeat(answer.includes('200000') ? 200_000 : 0)),
    );
    const sender = createSender();
    for (let count = 0; count < 2; count++) await post(sender, `http://hooks.example:${server.port}/`);
    expect(server.connections).toBe(2);
  }
});

test.each([
  ['a second response', SMUGGLED],
  ['the beginning of a response', SMUGGLED.slice(0, 20)],
  ['bytes that are no HTTP', '\u0000\u0001garbage'],
  ['line breaks', '\r\n\r\n'],
])('%s after a response is never the response to the next delivery', async (_, extra) => {
  const together = (socket: Socket, count: number) => socket.write(response(`answer ${count}`) + extra);
  const soon = (socket: Socket, count: number) =>
    socket.write(response(`answer ${count}`), () => setTimeout(() => socket.write(extra), 5));
  for (const answer of [together, soon]) {
    const server = await serveRaw(answer);
    const sender = createSender();
    const results: DeliveryResult[] = [];
    for (let count = 0; count < 5; count++) {
      results.push(await post(sender, `http://hooks.example:${server.port}/`));
      await settle();
    }
    expect(results[0]?.status).toBe(200);
    // A later delivery may fail on a connection that the server spoiled, but gets no response of another request.
    const wrong = results.filter(({ error, answer: text }, count) => error === null && text !== `answer ${count}`);
    expect(wrong).toEqual([]);
  }
});

test('idle connections are bounded in total, so that many hosts do not exhaust the process', async () => {
  const open = new Set<Socket>();
  const server = await serveRaw((socket) => {
    open.add(socket.on('close', () => open.delete(socket)));
    socket.write(response('ok'));
  });
  const sender = createSender();
  for (let host = 0; host < 100; host++) await post(sender, `http://host${host}.example:${server.port}/`);
  expect(server.connections).toBe(100);
  await expect.poll(() => open.size, SOON).toBeLessThanOrEqual(64);
  expect(open.size).toBeGreaterThan(0);
});
