import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type Breaker, Breakers } from '#kit/breaker.ts';
import { asApiError } from '#kit/errors.ts';
import { Metrics } from '#kit/metrics.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { Proxy, WaitEnded } from './proxy.ts';

const OPEN_MS = 50;

/** Opens at the first failure, and not for long. */
class QuickBreakers extends Breakers {
  override create(dependency: string, isFailure: (error: unknown) => boolean): Breaker {
    return super.create(dependency, isFailure, { leastCalls: 1, failedPercent: 1, openMs: OPEN_MS });
  }
}

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a poll that waits does not keep others from a service that has come back', async () => {
  let isDown = true;
  const polls: string[] = [];
  const service = createServer((request, response) => {
    if (isDown) request.socket.destroy();
    else if (request.url === '/poll') polls.push(request.url);
    else response.end('here');
  });
  const target = await listen(service);
  const services = Object.fromEntries(ROUTES.map((route) => [route.service, target]));
  const breakers = new QuickBreakers(new Metrics());
  closers.push(() => breakers.stop());
  const proxy = new Proxy({ services, timeoutMs: 5_000, breakers });
  closers.push(() => proxy.stop());
  const front = createServer((request, response) => {
    const waitMs = request.url === '/poll' ? 25_000 : 0;
    proxy.forward(request, response, 'activity', waitMs).catch((error: unknown) => {
      response.writeHead(asApiError(error).httpStatus).end();
    });
  });
  const url = await listen(front);
  const status = async (path: string) => (await fetch(url + path)).status;

  expect(await status('/')).toBe(503);
  isDown = false;
  const poll = fetch(`${url}/poll`).catch(() => 'gone');
  // Also while the breaker is open: by the time it lets one call try, the poll waits already.
  await expect.poll(() => polls).toHaveLength(1);
  await expect.poll(() => status('/'), { timeout: 5_000 }).toBe(200);
  front.closeAllConnections();
  expect(await poll).toBe('gone');
});

test('a drain ends the waits of callers, tells the service so, and cuts off nothing that is answered', async () => {
  const gone: string[] = [];
  const arrived: string[] = [];
  let answerRest: (() => void) | undefined;
  const target = await listen(
    createServer((request, response) => {
      arrived.push(request.url ?? '');
      response.once('close', () => !response.writableFinished && gone.push(request.url ?? ''));
      if (request.url !== '/answered') return;
      response.write('half');
      answerRest = () => response.end(' and the rest');
    }),
  );
  const services = Object.fromEntries(ROUTES.map((route) => [route.service, target]));
  const breakers = new QuickBreakers(new Metrics());
  closers.push(() => breakers.stop());
  const proxy = new Proxy({ services, timeoutMs: 5_000, breakers });
  closers.push(() => proxy.stop());
  const front = createServer((request, response) => {
    proxy.forward(request, response, 'activity', 25_000).catch((error: unknown) => {
      response.end(error instanceof WaitEnded ? 'ended' : 'failed');
    });
  });
  const url = await listen(front);
  const text = async (path: string) => (await fetch(url + path)).text();

  const waiting = ['/a', '/b'].map(text);
  const answered = await fetch(`${url}/answered`);
  await expect.poll(() => arrived.toSorted()).toEqual(['/a', '/answered', '/b']);
  await proxy.drain();
  expect(await Promise.all(waiting)).toEqual(['ended', 'ended']);
  await expect.poll(() => gone.toSorted()).toEqual(['/a', '/b']);
  answerRest?.();
  expect(await answered.text()).toBe('half and the rest');
  expect(await text('/late')).toBe('ended');
  expect(arrived).toHaveLength(3);
});
