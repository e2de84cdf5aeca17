import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { type Browser, ConsoleFixture, GUILD } from './fixture.ts';

let system: ConsoleFixture;
let owner: Browser;
const logLines: string[] = [];
const proxies = new Map<string, TcpProxy>();
const SERVICE_TIMEOUT_MS = '1500';
/** Longer than the deadline of most calls of auth, 3 s, and shorter than that of auth's calls for an erasure, 4 s. */
const SLOW_MS = 3_300;
/** The parts whose connections can be disturbed. */
const PROXIED = ['moderation', 'redis', 'auth'];

beforeAll(async () => {
  system = await ConsoleFixture.start({
    environment: { SERVICE_TIMEOUT_MS, TRUSTED_PROXIES: '127.0.0.1' },
    logLines,
    through: async (part, address) => {
      if (!PROXIED.includes(part)) return address;
      const proxy = await startTcpProxy(Number(address.split(':')[1]));
      // A service has two addresses: that of gRPC comes last.
      proxies.set(proxies.has(part) ? `${part} grpc` : part, proxy);
      return `127.0.0.1:${proxy.port}`;
    },
  });
  owner = await system.signIn();
});
afterAll(async () => {
  await system.stop();
  for (const proxy of proxies.values()) await proxy.close();
});

const proxyOf = (part: string) => proxies.get(part) as TcpProxy;
const bans = () => owner.api(`/moderation/${GUILD}/game/bans/active`);

test('a service that is too slow is 504, and other services are not affected', async () => {
  proxyOf('moderation').hold();
  const started = performance.now();
  const { status, json } = await bans();
  expect([status, json.details.code]).toEqual([504, 'TIMEOUT']);
  expect(performance.now() - started).toBeLessThan(20_000);
  expect((await owner.api(`/guilds/${GUILD}/usage`)).status).not.toBe(504);
  proxyOf('moderation').release();
  await expect.poll(async () => (await bans()).status).toBe(200);
});

test('a browser that leaves while its request is forwarded is logged as no failure', async () => {
  const inFlight = () => system.metric('console_in_flight_requests');
  logLines.length = 0;
  proxyOf('moderation').hold();
  const leaving = new AbortController();
  const headers = { cookie: owner.cookie, 'x-guild-id': GUILD };
  const response = fetch(`${system.url}/api/v1/moderation/${GUILD}/game/bans/active`, {
    headers,
    signal: leaving.signal,
  });
  await expect.poll(inFlight).toBe(1);
  leaving.abort();
  await expect(response).rejects.toThrow('aborted');
  await expect.poll(inFlight).toBe(0);
  proxyOf('moderation').release();
  expect(logLines.filter((line) => line.includes('request failed'))).toEqual([]);
});

test('a service that is down is 503 with Retry-After, and works again by itself', async () => {
  await proxyOf('moderation').refuse();
  proxyOf('moderation').cut();
  const { status, headers, json } = await bans();
  expect([status, json.details.code]).toEqual([503, 'UNAVAILABLE']);
  expect(headers['retry-after']).toBeDefined();
  await proxyOf('moderation').accept();
  await expect.poll(async () => (await bans()).status, { timeout: 20_000 }).toBe(200);
});

test('without Redis requests work, and limits are counted in the process', async () => {
  await proxyOf('redis').refuse();
  proxyOf('redis').cut();
  await expect.poll(() => system.metric('gateway_limiter_degraded'), { timeout: 20_000 }).toBe(1);
  const { status, headers } = await bans();
  expect(status).toBe(200);
  expect(headers['x-ratelimit-limit']).toBe('100');
  await proxyOf('redis').accept();
});

test('without auth a person gets 503 and never 401, and is still signed in afterwards', async () => {
  await proxyOf('auth grpc').refuse();
  proxyOf('auth grpc').cut();
  const responses = await Promise.all([
    bans(),
    owner.send('/console/session'),
    owner.send(`/console/guilds/${GUILD}/keys`),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(responses.flatMap(({ headers }) => headers['set-cookie'] ?? [])).toEqual([]);
  await proxyOf('auth grpc').accept();
  await expect.poll(async () => (await owner.send('/console/session')).status, { timeout: 20_000 }).toBe(200);
});

test('an erasure waits for a service that needs longer than other calls may take', async () => {
  const slow = proxyOf('moderation grpc');
  const body = { game_id: 7001, dry_run: true };
  // On a busy machine the service may respond too late for this call too.
  await vi.waitFor(async () => {
    slow.hold();
    const started = performance.now();
    const erasure = owner.send(`/console/guilds/${GUILD}/erase`, { method: 'POST', body });
    setTimeout(() => slow.release(), SLOW_MS);
    const { status, json } = await erasure;
    expect([status, json.data?.is_done]).toEqual([200, true]);
    expect(performance.now() - started).toBeGreaterThan(SLOW_MS);
  }, PATIENCE);
});
