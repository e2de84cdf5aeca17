import { performance } from 'node:perf_hooks';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { connectRedis } from '#kit/redis/client.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { InvalidRequests } from './invalid-requests.ts';
import { PlatformLimits } from './limits.ts';
import { SharedRedis } from './shared-redis.ts';

const log = pino({ level: 'silent' });
const LIMIT = 'roles of members of 900000000000000001';
const OTHER_LIMIT = 'nicknames of 900000000000000001';
const MAX_INVALID_REQUESTS = 10;

let url: string;
let proxy: TcpProxy;
let cleanups: (() => unknown)[];

beforeEach(async () => {
  cleanups = [];
  const real = new URL(await testRedisUrl());
  proxy = await startTcpProxy(Number(real.port));
  cleanups.push(() => proxy.close());
  url = `redis://127.0.0.1:${proxy.port}${real.pathname}`;
});
afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

/** Starts one of two processes that share limits. */
async function startProcess(): Promise<PlatformLimits> {
  const breakers = new Breakers(new Metrics());
  cleanups.push(() => breakers.stop());
  const connection = connectRedis(url, { name: 'test', log });
  await connection.start();
  await vi.waitFor(() => connection.client.ping(), PATIENCE);
  cleanups.push(() => connection.stop());
  const shared = new SharedRedis({ redis: connection.client, processes: 2, breakers, log });
  return new PlatformLimits({
    shared,
    platform: 'chat platform',
    credential: 'token',
    maxInvalid: MAX_INVALID_REQUESTS,
  });
}

const until = (ms = 0) => performance.now() + ms;
const invalid = { isInvalid: true };
/** True if a call is rejected immediately, with a time after which to retry. */
const isRejected = (limits: PlatformLimits, limit = LIMIT): Promise<boolean> =>
  limits.admit(limit, until()).then(
    () => false,
    (error: { code: string; retryAfter: number }) => error.code === 'UNAVAILABLE' && error.retryAfter > 0,
  );

describe('limits in a response to one process', () => {
  test('a pause after a 429 also applies to the other process, for one rate limit or for the whole host', async () => {
    const [one, other] = [await startProcess(), await startProcess()];
    one.note(LIMIT, { pause: { ms: 60_000, isWholeHost: false }, isInvalid: false });
    await expect.poll(() => isRejected(other)).toBe(true);
    expect(await isRejected(other, OTHER_LIMIT)).toBe(false);
    one.note(LIMIT, { pause: { ms: 60_000, isWholeHost: true }, isInvalid: false });
    await expect.poll(() => isRejected(other, OTHER_LIMIT)).toBe(true);
  });

  test('both processes use up one bucket together, and it is full again when its window has ended', async () => {
    const [one, other] = [await startProcess(), await startProcess()];
    one.note(LIMIT, { bucket: { limit: 5, remaining: 4, resetMs: 2_000 }, isInvalid: false });
    await other.admit(OTHER_LIMIT, until());
    let admitted = 0;
    await expect
      .poll(async () => {
        const process = admitted % 2 === 0 ? one : other;
        return process.admit(LIMIT, until()).then(
          () => (admitted += 1),
          () => 'rejected',
        );
      })
      .toBe('rejected');
    expect(admitted).toBe(4);
    const started = performance.now();
    // This call has to wait for the next window.
    await other.admit(LIMIT, until(10_000));
    expect(performance.now() - started).toBeGreaterThan(200);
  });

  test('invalid requests are counted together, and at the maximum no call is made', async () => {
    const [one, other] = [await startProcess(), await startProcess()];
    for (let call = 0; call < MAX_INVALID_REQUESTS - 1; call++) (call % 2 === 0 ? one : other).note(LIMIT, invalid);
    await one.admit(LIMIT, until());
    await expect
      .poll(async () => one.admit(LIMIT, until()).then(() => one.invalidRequests))
      .toBe(MAX_INVALID_REQUESTS - 1);
    other.note(OTHER_LIMIT, invalid);
    await expect.poll(() => isRejected(one)).toBe(true);
    await expect.poll(() => isRejected(other, OTHER_LIMIT)).toBe(true);
  });
});

describe('while Redis', () => {
  test.each([
    ['is unreachable', () => proxy.close()],
    ['does not respond', async () => proxy.freezeAll()],
  ])(
    '%s, each process may make its share of invalid requests, and calls wait for Redis for 50 ms at most',
    async (_how, lose) => {
      const one = await startProcess();
      await one.admit(LIMIT, until());
      await lose();
      const started = performance.now();
      for (let call = 0; call < 50; call++) await one.admit(LIMIT, until());
      expect(performance.now() - started).toBeLessThan(2_000);
      for (let call = 0; call < MAX_INVALID_REQUESTS / 2; call++) one.note(LIMIT, invalid);
      await expect.poll(() => isRejected(one)).toBe(true);
      expect(one.invalidRequests).toBe(MAX_INVALID_REQUESTS / 2);
    },
  );

  test('was unreachable, limits are shared again once it is back', async () => {
    const [one, other] = [await startProcess(), await startProcess()];
    proxy.freezeAll();
    for (let call = 0; call < 5; call++) await one.admit(LIMIT, until());
    proxy.thaw();
    await expect
      .poll(async () => {
        one.note(LIMIT, { pause: { ms: 60_000, isWholeHost: false }, isInvalid: false });
        return other.admit(LIMIT, until()).then(
          () => 'admitted',
          () => 'rejected',
        );
      }, PATIENCE)
      .toBe('rejected');
  });
});

test('an invalid request counts for ten minutes', () => {
  let now = 0;
  const requests = new InvalidRequests(() => now);
  requests.add();
  now += 5 * 60_000;
  requests.add();
  expect(requests.count()).toBe(2);
  now += 5 * 60_000;
  expect(requests.count()).toBe(1);
  now += 5 * 60_000;
  expect(requests.count()).toBe(0);
});
