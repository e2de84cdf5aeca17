import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createSender, LOOPBACK, post, response, serveRaw } from './fixture.ts';

/** Shorter than the time after which an idle connection is closed anyway. */
const SOON = { timeout: 5_000 };
const LIMITS = { max: 3, maxPerHost: 2, maxWaiting: 10 };

/** Starts a server that responds when the test says so. */
async function serveHeld() {
  const held: Socket[] = [];
  const server = await serveRaw((socket) => held.push(socket));
  const release = () => {
    for (const socket of held.splice(0)) socket.write(response('ok'));
  };
  return { server, held, release };
}

test('a drain waits for deliveries in flight, and later ones are not sent', async () => {
  const { server, held, release } = await serveHeld();
  const sender = createSender();
  const url = `http://hooks.example:${server.port}/`;
  const sending = post(sender, url);
  await expect.poll(() => held.length).toBe(1);
  const drained = sender.drain();
  expect(await post(sender, url)).toMatchObject({ status: null, error: 'temporarily unavailable', isOurFault: true });
  release();
  expect(await sending).toMatchObject({ status: 200 });
  await drained;
  expect(server.connections).toBe(1);
});

test('a drain aborts deliveries that take too long, which is not the fault of the endpoint', async () => {
  const { server, held } = await serveHeld();
  const sender = createSender(LOOPBACK, { drainMs: 100 });
  const sending = post(sender, `http://hooks.example:${server.port}/`, { timeoutMs: 60_000 });
  await expect.poll(() => held.length).toBe(1);
  await sender.drain();
  expect(await sending).toMatchObject({ status: null, error: 'temporarily unavailable', isOurFault: true });
});

test('a stop aborts deliveries that are being resolved or that wait, and closes idle connections', async () => {
  const { server, held, release } = await serveHeld();
  let isUnresolved = false;
  const resolve = (name: string) => {
    if (name !== 'slow.example') return Promise.resolve(['127.0.0.1']);
    isUnresolved = true;
    return new Promise<never>(() => undefined);
  };
  const sender = createSender(LOOPBACK, { resolve, limits: { ...LIMITS, max: 2 } });
  const idle = post(sender, `http://idle.example:${server.port}/`);
  await expect.poll(() => held.length).toBe(1);
  const [socket] = held;
  release();
  await idle;
  const urls = ['slow', 'held', 'waiting'].map((name) => `http://${name}.example:${server.port}/`);
  const sending = urls.map((url) => post(sender, url, { timeoutMs: 60_000 }));
  await expect.poll(() => isUnresolved && held.length === 1).toBe(true);
  await sender.stop();
  for (const result of await Promise.all(sending)) expect(result).toMatchObject({ status: null, isOurFault: true });
  await expect.poll(() => socket?.destroyed, SOON).toBe(true);
});

test('at most so many deliveries to one host and in total are in flight; the rest wait for their turn', async () => {
  const { server, held, release } = await serveHeld();
  const sender = createSender(LOOPBACK, { limits: LIMITS });
  const names = ['a', 'a', 'a', 'a', 'b', 'c'];
  const sending = names.map((name) => post(sender, `http://${name}.example:${server.port}/`));
  await expect.poll(() => held.length).toBe(3);
  expect(server.connections).toBe(3);
  expect(server.received).toMatch(/host: b\.example/i);
  const timer = setInterval(() => {
    expect(held.length).toBeLessThanOrEqual(3);
    release();
  }, 10);
  for (const result of await Promise.all(sending)) expect(result).toMatchObject({ status: 200 });
  clearInterval(timer);
});

test('a delivery that waits for its turn until its timeout is not the fault of the endpoint', async () => {
  const { server } = await serveHeld();
  const sender = createSender(LOOPBACK, { limits: { ...LIMITS, maxPerHost: 1 } });
  const url = `http://hooks.example:${server.port}/`;
  const [first, second] = [post(sender, url, { timeoutMs: 1_000 }), post(sender, url, { timeoutMs: 200 })];
  expect(await second).toMatchObject({ error: 'too many deliveries at the same time', isOurFault: true });
  expect(await first).toMatchObject({ error: 'timeout', isOurFault: false });
});
