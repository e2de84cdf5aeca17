import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { printFigure } from '#test/measure/figures.ts';
import { AT_ONCE, NEVER, OPEN_MS, proxyTo, TIMEOUT_MS } from './fixtures/proxy.ts';

test('a poll is rejected while its service is down, and does not keep the breaker open afterwards', async () => {
  let isDown = true;
  const polls: string[] = [];
  const service = createServer((request, response) => {
    if (isDown) request.socket.destroy();
    else if (request.url === '/poll') polls.push(request.url);
    else response.end('here');
  });
  const { front, url, status, breaker } = await proxyTo(service, AT_ONCE, (path) => (path === '/poll' ? 25_000 : 0));

  expect(await status('/')).toBe(503);
  expect(await status('/poll')).toBe(503);
  isDown = false;
  await expect.poll(() => breaker?.isOpen).toBe(false);
  const poll = fetch(`${url}/poll`).catch(() => 'gone');
  await expect.poll(() => polls).toHaveLength(1);
  await expect.poll(() => status('/')).toBe(200);
  front.closeAllConnections();
  expect(await poll).toBe('gone');
});

/** A service that resets every second connection after it has sent `sent`. */
function unsteady(sent: string) {
  const seen: string[] = [];
  let isLost = false;
  const service = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    isLost = request.url !== '/steady' && !isLost;
    request.resume();
    if (!isLost) response.end('here');
    // Written to the socket, so that Node adds nothing.
    else request.socket.write(sent, () => request.socket.resetAndDestroy());
  });
  return { service, seen };
}

const TEN = Array.from({ length: 10 });

test.each(['GET', 'HEAD'])(
  '%s is retried once if its connection is lost before a part of the response',
  async (method) => {
    const { service, seen } = unsteady('');
    const { status, retries } = await proxyTo(service, NEVER);
    for (const _ of TEN) expect(await status('/steady')).toBe(200);
    expect(await status('/one', { method })).toBe(200);
    expect(seen.slice(10)).toEqual([`${method} /one`, `${method} /one`]);
    expect(await retries()).toBe(1);
  },
);

test.each([
  ['a POST', 'POST', ''],
  ['a DELETE without a body, which the service may have processed', 'DELETE', ''],
  ['a GET with a part of its response received', 'GET', 'HTTP/1.1 200 O'],
])('%s is never retried', async (_request, method, sent) => {
  const { service, seen } = unsteady(sent);
  const { status, retries } = await proxyTo(service, NEVER);
  for (const _ of TEN) expect(await status('/steady')).toBe(200);
  expect(await status('/one', { method, ...(method === 'POST' && { body: '{}' }) })).toBe(503);
  expect(seen.slice(10)).toEqual([`${method} /one`]);
  expect(await retries()).toBe(0);
});

test('a DELETE without a body that could not be sent is retried once', async () => {
  const { service } = unsteady('');
  const { status, retries } = await proxyTo(service, NEVER);
  for (const _ of TEN) expect(await status('/steady')).toBe(200);
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
  expect(await status('/one', { method: 'DELETE' })).toBe(503);
  expect(await status('/one', { method: 'POST', body: '{}' })).toBe(503);
  expect(await retries()).toBe(1);
});

/** A service that never responds. */
function silent() {
  const arrived: string[] = [];
  return { arrived, service: createServer((request) => arrived.push(request.url ?? '')) };
}

test('clients that give up on a service that hangs open its breaker', async () => {
  const { arrived, service } = silent();
  const { status } = await proxyTo(service, { minCalls: 3, failedPercent: 50, openMs: 60_000 });
  const givenUp = TEN.map(() => status('/slow', { signal: AbortSignal.timeout(1_500) }).catch(() => 'gone'));
  expect(new Set(await Promise.all(givenUp))).toEqual(new Set(['gone']));
  await expect.poll(() => status('/more', { signal: AbortSignal.timeout(100) }).catch(() => 'gone')).toBe(503);
  expect(arrived.filter((url) => url === '/slow')).toHaveLength(10);
});

test('clients that give up on slow requests do not open the breaker of a service that responds to others', async () => {
  const service = createServer((request, response) => {
    if (request.url !== '/slow') response.end();
  });
  const { status, breaker } = await proxyTo(service, { minCalls: 3, failedPercent: 50, openMs: 60_000 });
  const gone = TEN.map(() => status('/slow', { signal: AbortSignal.timeout(1_500) }).catch(() => 'gone'));
  expect(new Set(await Promise.all(gone))).toEqual(new Set(['gone']));
  for (const _ of TEN) expect(await status('/quick')).toBe(200);
  expect(breaker?.isOpen).toBe(false);
});

test('a request whose client has disconnected is not sent, and does not count as a failure of its service', async () => {
  const { arrived, service } = silent();
  const { front, url, proxy, breaker } = await proxyTo(service, AT_ONCE);
  const outcomes: Promise<void>[] = [];
  front.removeAllListeners('request').on('request', (request, response) => {
    response.once('close', () => outcomes.push(proxy.forward(request, response, 'activity', 0)));
  });
  await fetch(url, { signal: AbortSignal.timeout(50) }).catch(() => 'gone');
  await expect.poll(() => outcomes).toHaveLength(1);
  expect(await outcomes[0]).toBeUndefined();
  expect(arrived).toEqual([]);
  expect(breaker?.isOpen).toBe(false);
});

test('clients that disconnect early do not open a breaker', async () => {
  const arrived: string[] = [];
  const service = createServer((request, response) => {
    arrived.push(request.url ?? '');
    if (request.url === '/here') response.end();
  });
  const { status, breaker } = await proxyTo(service, { minCalls: 1, failedPercent: 1, openMs: 2_000 });
  const gone = new AbortController();
  const outcome = status('/early', { signal: gone.signal }).catch(() => 'gone');
  await expect.poll(() => arrived, { interval: 5 }).toContain('/early');
  gone.abort();
  expect(await outcome).toBe('gone');
  expect(await status('/here')).toBe(200);
  expect(breaker?.isOpen).toBe(false);
});

test('a service that hangs is probed in the background, and clients get 503 immediately until it responds', async () => {
  let isHanging = true;
  const arrived: string[] = [];
  const service = createServer((request, response) => {
    arrived.push(request.url ?? '');
    if (!isHanging) response.end();
  });
  const { status, breaker } = await proxyTo(service, AT_ONCE, () => 0, 200);
  expect(await status('/first')).toBe(504);
  const until = performance.now() + 10 * OPEN_MS;
  while (performance.now() < until) expect(await status('/later')).toBe(503);
  expect(new Set(arrived)).toEqual(new Set(['/first', '/']));
  isHanging = false;
  await expect.poll(() => breaker?.isOpen).toBe(false);
  expect(await status('/later')).toBe(200);
});

test('a response that is cut off is never relayed as a complete one', async () => {
  const service = createServer((_request, response) => {
    response.setHeader('content-length', 100);
    response.write('the first half', () => response.socket?.resetAndDestroy());
  });
  const { url } = await proxyTo(service, NEVER);
  const started = performance.now();
  await expect(fetch(url).then((response) => response.text())).rejects.toThrow('terminated');
  expect(performance.now() - started).toBeLessThan(TIMEOUT_MS / 2);
});

test('of a thousand requests to a service that always fails exactly a tenth is retried', async () => {
  const seen: string[] = [];
  const service = createServer((request) => {
    seen.push(request.url ?? '');
    request.socket.destroy();
  });
  const { status, retries } = await proxyTo(service, NEVER);
  for (let round = 0; round < 20; round++) {
    const statuses = await Promise.all(Array.from({ length: 50 }, () => status('/')));
    expect(new Set(statuses)).toEqual(new Set([503]));
  }
  printFigure('retries of 1000 requests that all failed', await retries());
  expect(await retries()).toBe(100);
  expect(seen).toHaveLength(1_100);
});

test('a drain ends waiting polls, aborts their requests to the service, and cuts off no response', async () => {
  const gone: string[] = [];
  const arrived: string[] = [];
  let sendRest: (() => void) | undefined;
  const service = createServer((request, response) => {
    arrived.push(request.url ?? '');
    response.once('close', () => !response.writableFinished && gone.push(request.url ?? ''));
    if (request.url !== '/responding') return;
    response.write('half');
    sendRest = () => response.end(' and the rest');
  });
  const { proxy, url } = await proxyTo(service, NEVER, () => 25_000);
  const text = async (path: string) => (await fetch(url + path)).text();

  const waiting = ['/a', '/b'].map(text);
  const responding = await fetch(`${url}/responding`);
  await expect.poll(() => arrived.toSorted()).toEqual(['/a', '/b', '/responding']);
  await proxy.drain();
  expect(await Promise.all(waiting)).toEqual(['ended', 'ended']);
  await expect.poll(() => gone.toSorted()).toEqual(['/a', '/b']);
  sendRest?.();
  expect(await responding.text()).toBe('half and the rest');
  expect(await text('/late')).toBe('ended');
  expect(arrived).toHaveLength(3);
});
