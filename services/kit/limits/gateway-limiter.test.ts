import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Child, type Program, startProgram } from '#local/child.ts';
import { prepareRedis } from '#local/redis.ts';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { type Clock, systemClock } from '../clock.ts';
import { connectRedis } from '../redis/client.ts';
import { Breakers } from '../resilience/breaker.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { GatewayLimiter } from './gateway-limiter.ts';
import type { Decision, Limit } from './limiter.ts';

/** About 30 years: no window ends during a test. */
const ENDLESS_MS = 1e12;
/** A decision may wait 50 ms for Redis, and take 10 ms itself. */
const USUAL_MS = 60;
/** Single decisions may take longer on a machine that other tests keep busy. */
const MAX_MS = 250;
const OFTEN = { interval: 20 };
const GUILD = '900000000000000001';
let folder: string;
let server: { url: string; program: Program };
let redis: Child | undefined;
let cleanups: (() => Promise<void>)[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-limits-'));
  cleanups = [];
  const prepared = await prepareRedis({ folder });
  if (!prepared) throw new Error('no Redis server is installed');
  server = prepared;
});
afterEach(async () => {
  for (const cleanup of cleanups) await cleanup();
  await stopRedis();
  rmSync(folder, { recursive: true, force: true });
});

async function startRedis(): Promise<number> {
  redis = await startProgram(server.program);
  return redis.pid;
}

async function stopRedis(): Promise<void> {
  // A process that was stopped by SIGSTOP cannot end gracefully.
  await redis?.stop(0);
  redis = undefined;
}

interface Gateway {
  limiter: GatewayLimiter;
  metrics: Metrics;
  /** Sends this many requests in sequence and returns how many were allowed. */
  countAllowed(limit: Limit, times: number): Promise<number>;
  decide(limit: Limit): Promise<Decision>;
}

async function createGateway(
  replicas: number,
  url: string | null = server.url,
  clock: Clock = systemClock,
): Promise<Gateway> {
  const log = pino({ level: 'silent' });
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const connection = url === null ? undefined : connectRedis(url, { name: 'test', log });
  const limiter = new GatewayLimiter({
    redis: connection?.client,
    replicas,
    clock,
    log,
    metrics,
    breakers,
    windowMs: ENDLESS_MS,
  });
  cleanups.push(async () => {
    await connection?.stop();
    breakers.stop();
  });
  await connection?.start();
  const decide = async (limit: Limit) => limiter.decide(GUILD, [limit]);
  const countAllowed = async (limit: Limit, times: number) => {
    let count = 0;
    for (let time = 0; time < times; time += 1) count += Number((await decide(limit)).allowed);
    return count;
  };
  return { limiter, metrics, decide, countAllowed };
}

const lookup = (limit: number, subject = GUILD): Limit => ({ category: 'lookup', limit, subject });

async function untilExact(gateway: Gateway): Promise<void> {
  await expect.poll(async () => (await gateway.decide(lookup(1e6, 'probe'))).mode, OFTEN).toBe('exact');
  expect(gateway.limiter.isDegraded).toBe(false);
}

async function duration(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

test('a decision that needs two calls to Redis because a clock was set takes no longer than 50 ms for both', async () => {
  await startRedis();
  const proxy = await startTcpProxy(Number(new URL(server.url).port));
  cleanups.push(() => proxy.close());
  const waits: number[] = [];
  // The shortest counts: a busy machine delays single decisions, but a timeout for each call would delay all.
  while (waits.length < 3) {
    let shift = 0;
    const gateway = await createGateway(1, `redis://127.0.0.1:${proxy.port}`, { now: () => Date.now() + shift });
    await untilExact(gateway);
    // Each response takes 40 ms, and by the gateway's clock its requests arrive half a minute after their deadline.
    proxy.slow(20);
    shift = -30_000;
    const decide = () => gateway.decide(lookup(1e6, 'called twice'));
    waits.push(await duration(async () => expect(await decide()).toMatchObject({ allowed: true, mode: 'degraded' })));
    proxy.slow(0);
    await untilExact(gateway);
    expect((await decide()).mode).toBe('exact');
  }
  expect(Math.min(...waits)).toBeLessThan(USUAL_MS);
});

describe('without Redis', () => {
  test('a single gateway without Redis is exact', async () => {
    const gateway = await createGateway(1, null);
    expect(gateway.limiter.isDegraded).toBe(false);
    expect(await gateway.countAllowed(lookup(20), 50)).toBe(20);
    expect((await gateway.decide(lookup(20))).mode).toBe('exact');
  });

  test('several gateways without Redis divide the limit and report that they are degraded', async () => {
    const gateway = await createGateway(3, null);
    expect(gateway.limiter.isDegraded).toBe(true);
    expect(await gateway.countAllowed(lookup(20), 50)).toBe(7);
    expect((await gateway.decide(lookup(20))).mode).toBe('degraded');
  });

  test('a Redis that is down at the start delays no request; once it is up limits are exact', async () => {
    const gateway = await createGateway(2);
    expect(gateway.limiter.isDegraded).toBe(true);
    expect(await duration(() => gateway.decide(lookup(20)))).toBeLessThan(MAX_MS);
    expect(await gateway.countAllowed(lookup(20), 50)).toBe(9);
    await startRedis();
    await untilExact(gateway);
    expect(await gateway.countAllowed(lookup(20, 'other'), 50)).toBe(20);
  });
});

describe('a Redis that dies', () => {
  test('neither the loss of Redis nor its return without its counts restarts the window', async () => {
    await startRedis();
    const gateway = await createGateway(1);
    await untilExact(gateway);
    expect(await gateway.countAllowed(lookup(60), 20)).toBe(20);
    await stopRedis();
    expect(await gateway.countAllowed(lookup(60), 15)).toBe(15);
    await expect.poll(() => gateway.limiter.isDegraded, OFTEN).toBe(true);
    await startRedis();
    await untilExact(gateway);
    expect(await gateway.countAllowed(lookup(60), 60)).toBe(25);
    const other = await createGateway(1);
    await untilExact(other);
    expect(await other.countAllowed(lookup(60), 10)).toBe(0);
    expect(await other.countAllowed(lookup(60, 'other'), 100)).toBe(60);
  });

  test('gateways that share the load evenly allow no more than the limit', async () => {
    await startRedis();
    const gateways = await Promise.all([createGateway(2), createGateway(2)]);
    await Promise.all(gateways.map(untilExact));
    let passed = 0;
    for (const gateway of [...gateways, ...gateways]) passed += await gateway.countAllowed(lookup(60), 5);
    await stopRedis();
    for (const gateway of gateways) passed += await gateway.countAllowed(lookup(60), 60);
    // Redis had last returned 15 to the first gateway, five less than were allowed.
    expect(passed).toBeGreaterThanOrEqual(60);
    expect(passed).toBeLessThanOrEqual(63);
    await startRedis();
    await Promise.all(gateways.map(untilExact));
    for (const gateway of gateways) expect(await gateway.countAllowed(lookup(60), 60)).toBe(0);
  });

  test('each request in flight is decided, and no more than the limit are allowed', async () => {
    await startRedis();
    const gateway = await createGateway(1);
    await untilExact(gateway);
    const decisions = Array.from({ length: 100 }, () => gateway.decide(lookup(60)));
    const stopped = stopRedis();
    const later = Array.from({ length: 100 }, () => gateway.decide(lookup(60)));
    await stopped;
    const all = await Promise.all([...decisions, ...later]);
    expect(all.filter(({ allowed }) => allowed)).toHaveLength(60);
  });
});

describe('a Redis that hangs', () => {
  test('delays decisions by at most 50 ms each, soon not at all, and never raises the limit', async () => {
    const pid = await startRedis();
    const gateway = await createGateway(1);
    await untilExact(gateway);
    expect(await gateway.countAllowed(lookup(60), 10)).toBe(10);
    process.kill(pid, 'SIGSTOP');
    const durations: number[] = [];
    let passed = 10;
    for (let request = 0; request < 200; request += 1) {
      durations.push(await duration(async () => (passed += await gateway.countAllowed(lookup(60), 1))));
    }
    expect(passed).toBe(60);
    expect(Math.max(...durations)).toBeLessThan(MAX_MS);
    // The breaker opens when more than half of the calls of half a second timed out.
    const slow = durations.filter((milliseconds) => milliseconds > 40);
    expect(slow.length).toBeLessThan(15);
    expect(median(slow)).toBeLessThan(USUAL_MS);
    expect(median(durations)).toBeLessThan(5);
    expect(gateway.limiter.isDegraded).toBe(true);
    process.kill(pid, 'SIGCONT');
    await untilExact(gateway);
    expect(await gateway.countAllowed(lookup(60), 60)).toBe(0);
    expect(await gateway.countAllowed(lookup(60, 'other'), 100)).toBe(60);
  });

  test('delays only one decision of a gateway with few requests', async () => {
    const pid = await startRedis();
    const gateway = await createGateway(1);
    await untilExact(gateway);
    await pause(600);
    process.kill(pid, 'SIGSTOP');
    const durations: number[] = [];
    for (let request = 0; request < 5; request += 1) {
      durations.push(await duration(() => gateway.decide(lookup(60))));
      await pause(600);
    }
    expect(durations.filter((milliseconds) => milliseconds > 40)).toHaveLength(1);
  });

  test('does not count requests that timed out when it continues', async () => {
    const pid = await startRedis();
    const [gateway, other] = await Promise.all([createGateway(2), createGateway(2)]);
    await untilExact(gateway);
    await untilExact(other);
    process.kill(pid, 'SIGSTOP');
    await Promise.all(Array.from({ length: 40 }, () => gateway.decide(lookup(1e6, 'waiting'))));
    await pause(100);
    process.kill(pid, 'SIGCONT');
    await untilExact(other);
    const { states } = await other.decide(lookup(1e6, 'waiting'));
    expect(states[0]?.remaining).toBe(1e6 - 1);
  });

  test('delays many concurrent requests no longer than one', async () => {
    const pid = await startRedis();
    const gateway = await createGateway(1);
    await untilExact(gateway);
    process.kill(pid, 'SIGSTOP');
    const burst = Array.from({ length: 200 }, () => duration(() => gateway.decide(lookup(60))));
    expect(Math.max(...(await Promise.all(burst)))).toBeLessThan(MAX_MS);
    const later: number[] = [];
    for (let request = 0; request < 20; request += 1) later.push(await duration(() => gateway.decide(lookup(60))));
    expect(median(later)).toBeLessThan(5);
  });
});

describe('with Redis', () => {
  test('a subject over its limit is rejected without a call, until its limit is raised', async () => {
    await startRedis();
    const gateway = await createGateway(1);
    await untilExact(gateway);
    expect(await gateway.countAllowed(lookup(5), 10)).toBe(5);
    await stopRedis();
    const rejected = await gateway.decide(lookup(5));
    expect(rejected).toMatchObject({ allowed: false, mode: 'exact', rejectedBy: { category: 'lookup', remaining: 0 } });
    await startRedis();
    await untilExact(gateway);
    expect(await gateway.countAllowed(lookup(8), 10)).toBe(3);
  });

  test('decisions are counted by category and mode; requests without limits are not counted', async () => {
    await startRedis();
    const gateway = await createGateway(1);
    await expect.poll(() => gateway.limiter.isDegraded, OFTEN).toBe(false);
    const cap: Limit = { category: 'api_key', limit: 1, subject: 'key-1' };
    for (let time = 0; time < 3; time += 1) await gateway.limiter.decide(GUILD, [lookup(5), cap]);
    expect(await gateway.limiter.decide(GUILD, [])).toEqual({ allowed: true, mode: 'exact', states: [] });
    const text = await gateway.metrics.registry.metrics();
    expect(text).toContain('gateway_limit_decisions_total{category="lookup",decision="allowed",mode="exact"} 1');
    expect(text).toContain('gateway_limit_decisions_total{category="api_key",decision="rejected",mode="exact"} 2');
    expect(text).toContain('gateway_limiter_degraded 0');
    await stopRedis();
    await expect.poll(() => gateway.metrics.registry.metrics()).toContain('gateway_limiter_degraded 1');
  });
});
