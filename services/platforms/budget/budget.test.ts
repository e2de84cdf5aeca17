import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { withPurpose } from '#kit/context.ts';
import { connectRedis, type RedisConnection } from '#kit/redis/client.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { maxWithin, watchSecond } from '#test/measure/rates.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { CallBudget } from './budget.ts';
import { SharedRedis } from './shared-redis.ts';

const log = pino({ level: 'silent' });
const GUILD = '900000000000000001';

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

interface Process {
  budget: CallBudget;
  metrics: Metrics;
}

/** Starts one of two processes that share a budget. */
async function startProcess(callsPerSecond: number, withRedis = true): Promise<Process> {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  cleanups.push(() => breakers.stop());
  let connection: RedisConnection | undefined;
  if (withRedis) {
    connection = connectRedis(url, { name: 'test', log });
    await connection.start();
    const { client } = connection;
    await vi.waitFor(() => client.ping(), PATIENCE);
    cleanups.push(() => connection?.stop());
  }
  const redis = connection?.client;
  const shared = new SharedRedis({ redis, processes: 2, breakers, log });
  const allowance = { slots: callsPerSecond, windowMs: 1_000 };
  return { budget: new CallBudget({ shared, platform: 'chat', credential: 'token', allowance, metrics }), metrics };
}

const isDegraded = async ({ metrics }: Process) =>
  /^chat_budget_degraded (\d)$/m.exec(await metrics.registry.metrics())?.[1] === '1';

/** Makes as many calls as possible for this time, and returns the time of each call. */
async function flood({ budget }: Process, milliseconds: number, guildId = GUILD): Promise<number[]> {
  const times: number[] = [];
  const until = performance.now() + milliseconds;
  const worker = async () => {
    while (performance.now() < until) {
      await budget.run(guildId, 5_000, async () => {
        times.push(performance.now());
        await sleep(Math.random() * 30);
      });
    }
  };
  await Promise.all(Array.from({ length: 10 }, worker));
  return times;
}

describe('two processes', () => {
  test('together never exceed the budget in any second, and use most of it', async () => {
    const both = [await startProcess(20), await startProcess(20)];
    const second = watchSecond();
    const times = (await Promise.all(both.map((one) => flood(one, 4_000)))).flat();
    expect(maxWithin(second(), times)).toBeLessThanOrEqual(20);
    console.log(`two processes made ${times.length} calls in 4 s with a budget of 20 a second`);
    expect(times.length).toBeGreaterThan(30);
    for (const one of both) expect(await isDegraded(one)).toBe(false);
  });

  test("a caller's call in one process is made before the waiting jobs of the other process", async () => {
    const [one, other] = [await startProcess(5), await startProcess(5)];
    const order: string[] = [];
    const job = () => withPurpose('job', () => one.budget.run(GUILD, 30_000, async () => order.push('job')));
    const jobs = Array.from({ length: 15 }, job);
    await expect.poll(() => order.length).toBeGreaterThan(0);
    // Occupies the slot that jobs leave free, so that the next calls have to wait.
    await other.budget.run(GUILD, 5_000, async () => order.push('reserve'));
    await other.budget.run('900000000000000002', 5_000, async () => order.push('request'));
    expect(order.filter((what) => what === 'job').length).toBeLessThan(15);
    await Promise.all(jobs);
    // Within two windows of five calls; the jobs alone need four windows.
    expect(order.indexOf('request')).toBeLessThan(10);
  }, 30_000);

  test('a call that has waited for the maximum time is rejected without being made', async () => {
    const one = await startProcess(1);
    await one.budget.run(GUILD, 100, async () => undefined);
    let isMade = false;
    const started = performance.now();
    const call = one.budget.run(GUILD, 300, async () => (isMade = true));
    await expect(call).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
    expect([isMade, performance.now() - started < 3_000]).toEqual([false, true]);
  });
});

describe('without Redis', () => {
  test('each process has its share from the start, and the gauge shows it', async () => {
    const both = [await startProcess(20, false), await startProcess(20, false)];
    const second = watchSecond();
    const times = (await Promise.all(both.map((one) => flood(one, 2_500)))).flat();
    expect(maxWithin(second(), times)).toBeLessThanOrEqual(20);
    expect(await isDegraded(both[0] as Process)).toBe(true);
  });

  test.each([
    ['is unreachable', () => proxy.close()],
    ['does not respond', async () => proxy.freezeAll()],
  ])(
    'while it %s, calls continue with the share of the process after 50 ms at most, and the gauge shows it',
    async (_how, lose) => {
      const one = await startProcess(20);
      await one.budget.run(GUILD, 1_000, async () => undefined);
      await lose();
      const second = watchSecond();
      const times = await flood(one, 3_000);
      expect(times.length).toBeGreaterThan(10);
      // The first few calls may still have been allowed by Redis.
      const later = times.filter((time) => time > (times[0] ?? 0) + 1_100);
      expect(maxWithin(second(), later)).toBeLessThanOrEqual(10);
      expect(await isDegraded(one)).toBe(true);
    },
  );

  test('most calls do not wait for it: a hundred in a row are faster than if each of them waited', async () => {
    const one = await startProcess(1_000);
    await one.budget.run(GUILD, 1_000, async () => undefined);
    proxy.freezeAll();
    const started = performance.now();
    for (let call = 0; call < 100; call++) await one.budget.run(GUILD, 1_000, async () => undefined);
    // Three calls wait for 50 ms each; then the breaker opens, and no call waits for a second.
    expect(performance.now() - started).toBeLessThan(3_000);
  });

  test('the budget is shared again when it is back', async () => {
    const one = await startProcess(20);
    proxy.freezeAll();
    await flood(one, 500);
    expect(await isDegraded(one)).toBe(true);
    proxy.thaw();
    await expect
      .poll(async () => {
        await one.budget.run(GUILD, 5_000, async () => undefined);
        return isDegraded(one);
      })
      .toBe(false);
  });
});
