import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { printFigure } from '#test/measure/figures.ts';
import { AT_ONCE, NEVER, OPEN_MS, proxyTo, TIMEOUT_MS } from '../fixtures/proxied.ts';

test('a poll is rejected while its service is away, and keeps nobody from it once it is back', async () => {
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

/** A service whose every second connection is lost, after so many bytes of its answer. */
function unsteady(answered: string) {
  const seen: string[] = [];
  let isLost = false;
  const service = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    isLost = request.url !== '/steady' && !isLost;
    request.resume();
    if (!isLost) response.end('here');
    // By the socket, so that it goes out as it is.
    else request.socket.write(answered, () => request.socket.resetAndDestroy());
  });
  return { service, seen };
}

const TEN = Array.from({ length: 10 });

test.each(['GET', 'HEAD'])('%s whose connection is lost before any answer is passed on once more', async (method) => {
  const { service, seen } = unsteady('');
  const { status, retries } = await proxyTo(service, NEVER);
  for (const _ of TEN) expect(await status('/steady')).toBe(200);
  expect(await status('/one', { method })).toBe(200);
  expect(seen.slice(10)).toEqual([`${method} /one`, `${method} /one`]);
  expect(await retries()).toBe(1);
});

test.each([
  ['a POST', 'POST', ''],
  ['a DELETE without a body, which the service may have done', 'DELETE', ''],
  ['a GET of whose answer a part has come', 'GET', 'HTTP/1.1 200 O'],
])('%s is never passed on twice', async (_what, method, answered) => {
  const { service, seen } = unsteady(answered);
  const { status, retries } = await proxyTo(service, NEVER);
  for (const _ of TEN) expect(await status('/steady')).toBe(200);
  expect(await status('/one', { method, ...(method === 'POST' && { body: '{}' }) })).toBe(503);
  expect(seen.slice(10)).toEqual([`${method} /one`]);
  expect(await retries()).toBe(0);
});

test('a DELETE without a body that found nobody is passed on once more', async () => {
  const { service } = unsteady('');
  const { status, retries } = await proxyTo(service, NEVER);
  for (const _ of TEN) expect(await status('/steady')).toBe(200);
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
  expect(await status('/one', { method: 'DELETE' })).toBe(503);
  expect(await status('/one', { method: 'POST', body: '{}' })).toBe(503);
  expect(await retries()).toBe(1);
});

/** A service that answers nothing, to callers who leave. */
function silent() {
  const arrived: string[] = [];
  return { arrived, service: createServer((request) => arrived.push(request.url ?? '')) };
}

test('callers who give up on a service that hangs open its breaker', async () => {
  const { arrived, service } = silent();
  const { status } = await proxyTo(service, { minCalls: 3, failedPercent: 50, openMs: 60_000 });
  const givenUp = TEN.map(() => status('/', { signal: AbortSignal.timeout(1_500) }).catch(() => 'gone'));
  expect(new Set(await Promise.all(givenUp))).toEqual(new Set(['gone']));
  await expect.poll(() => status('/more', { signal: AbortSignal.timeout(100) }).catch(() => 'gone')).toBe(503);
  expect(arrived.filter((url) => url === '/')).toHaveLength(10);
});

test('a caller that has gone before its turn is not passed on, and no service is blamed for it', async () => {
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

test('callers who leave early do not open a breaker', async () => {
  const arrived: string[] = [];
  const service = createServer((request, response) => {
    arrived.push(request.url ?? '');
    if (request.url === '/here') response.end();
  });
  const { status, breaker } = await proxyTo(service, { minCalls: 1, failedPercent: 1, openMs: 2_000 });
  const gone = new AbortController();
  const answer = status('/early', { signal: gone.signal }).catch(() => 'gone');
  await expect.poll(() => arrived, { interval: 5 }).toContain('/early');
  gone.abort();
  expect(await answer).toBe('gone');
  expect(await status('/here')).toBe(200);
  expect(breaker?.isOpen).toBe(false);
});

test('a service that hangs is probed in the background: callers are rejected at once until it responds again', async () => {
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

test('an answer that breaks off in its middle is never taken for a whole one', async () => {
  const service = createServer((_request, response) => {
    response.setHeader('content-length', 100);
    response.write('the first half', () => response.socket?.resetAndDestroy());
  });
  const { url } = await proxyTo(service, NEVER);
  const started = performance.now();
  await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow('terminated');
  expect(performance.now() - started).toBeLessThan(TIMEOUT_MS / 2);
});

test('of a thousand requests to a service that always fails a tenth is passed on again, and no more', async () => {
  const seen: string[] = [];
  const service = createServer((request) => {
    seen.push(request.url ?? '');
    request.socket.destroy();
  });
  const { status, retries } = await proxyTo(service, NEVER);
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => status('/')));
    expect(new Set(answers)).toEqual(new Set([503]));
  }
  printFigure('requests passed on again, of 1000 that all failed', await retries());
  expect(await retries()).toBe(100);
  expect(seen).toHaveLength(1_100);
});

test('a drain ends the waits of callers, tells the service so, and cuts off nothing that is answered', async () => {
  const gone: string[] = [];
  const arrived: string[] = [];
  let answerRest: (() => void) | undefined;
  const service = createServer((request, response) => {
    arrived.push(request.url ?? '');
    response.once('close', () => !response.writableFinished && gone.push(request.url ?? ''));
    if (request.url !== '/answered') return;
    response.write('half');
    answerRest = () => response.end(' and the rest');
  });
  const { proxy, url } = await proxyTo(service, NEVER, () => 25_000);
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
