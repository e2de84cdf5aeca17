import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WINDOW_MS } from '#kit/limits/limiter.ts';
import { withinBound } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { waitForWindowTime } from '../measure/windows.ts';
import { startTcpProxy, type TcpProxy } from '../network/tcp-proxy.ts';
import { type RedisNode, startRedisNode } from '../redis/nodes.ts';
import { type Network, startNetwork } from '../system/system.ts';
import { use } from './hot-keys.ts';

const GATEWAYS = 3;
const CAP = 9;
/** The largest part of a rate limit window that the test of one fault takes. */
const TEST_MS = 25_000;
const EVERY_MS = 10;
const SLOW_MS = 2_000;

let folder: string;
let redis: RedisNode;
let proxy: TcpProxy;
let network: Network;
let gateways: string[];
/** A gateway without Redis in the same process, to measure the machine's own delays. */
let control: string;
let metrics: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-limits-'));
  redis = await startRedisNode(folder, []);
  proxy = await startTcpProxy(redis.port);
  network = await startNetwork({ redisUrl: null });
  control = network.address('gateway', 'http');
  gateways = [];
  metrics = [];
  for (let count = 0; count < GATEWAYS; count += 1) {
    const { addresses } = await network.startOne('gateway', {
      REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
      GATEWAY_REPLICAS: String(GATEWAYS),
    });
    gateways.push(addresses.http ?? '');
    metrics.push(`http://${addresses.admin}/metrics`);
  }
});
afterAll(async () => {
  await network?.stop();
  await proxy?.close();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const FAULTS: [string, () => Promise<void>, () => Promise<void>][] = [
  ['down, and restarted', () => redis.stop(), () => redis.start()],
  ['slow', async () => proxy.slow(SLOW_MS), async () => proxy.slow(0)],
  ['half-open', async () => proxy.freezeAll(), async () => proxy.thaw()],
];

describe('three gateways whose Redis is', () => {
  it.each(FAULTS)(
    '%s: no request waits or fails because of it, each gateway allows its share, and limits are exact afterwards',
    async (name, begin, end) => {
      await expectDegraded(0);
      await waitForWindowTime(TEST_MS);
      const shared = await newKey();
      // Cached by every gateway, without using up its limit.
      const calls = keepCalling(await newKey(1_000_000));
      await pause(1_000);
      const usualFrom = performance.now();
      await pause(1_500);
      const beganAt = performance.now();
      await begin();
      await expectDegraded(1);
      await pause(Math.max(0, beganAt + 2_500 - performance.now()));
      const endedAt = performance.now();
      expect(await passedAtEach(shared)).toEqual([CAP / GATEWAYS, CAP / GATEWAYS, CAP / GATEWAYS]);
      const backAt = performance.now();
      await end();
      await expectDegraded(0);
      withinBound(`Redis ${name}: exact again`, performance.now() - backAt, 10_000);
      expect(await passedExactly()).toBe(CAP);
      const all = await calls.stop();
      expect([...new Set(all.map(({ status }) => status))]).toEqual([200]);
      const added = (from: number, to: number) => {
        const during = all.filter(({ at }) => at >= from && at < to);
        const p99 = (isControl: boolean) => percentile(during.filter((call) => call.isControl === isControl));
        return p99(false) - p99(true);
      };
      printFigure(`Redis ${name}: added to p99 before it`, `${added(usualFrom, beganAt).toFixed(1)} ms`);
      withinBound(`Redis ${name}: added to p99 in the first second`, added(beganAt, beganAt + 1_000), 60);
      withinBound(`Redis ${name}: added to p99 after it`, added(beganAt + 1_000, endedAt), 5);
    },
    3 * WINDOW_MS,
  );
});

async function newKey(rateLimit = CAP): Promise<string> {
  const guilds = 920_000_000_000_000_000n + BigInt(Math.floor(performance.now() * 1000));
  return (await network.createKey({ guildId: String(guilds), rateLimit })).secret;
}

/** Waits until the gauge of every gateway has the value. */
async function expectDegraded(value: 0 | 1): Promise<void> {
  const [probe, gauge] = [await newKey(1_000_000), `gateway_limiter_degraded ${value}`];
  const show = async (url: string) => {
    await Promise.all(gateways.map((gateway) => use(gateway, probe)));
    return (await (await fetch(url)).text()).split('\n').includes(gauge);
  };
  await expect.poll(() => Promise.all(metrics.map(show))).toEqual([true, true, true]);
}

/** The number of requests that each gateway allowed in one window, of more than the limit. */
async function passedAtEach(secret: string): Promise<number[]> {
  const window = windowNumber();
  const passed = await countPassed(secret);
  // On a busy machine the next window may begin in the meantime, which allows the same number again.
  return windowNumber() === window ? passed : passedAtEach(await newKey());
}

const windowNumber = () => Math.floor(Date.now() / WINDOW_MS);

async function countPassed(secret: string): Promise<number[]> {
  const passed = gateways.map(() => 0);
  for (let call = 0; call < 2 * CAP * GATEWAYS; call += 1) {
    const { status } = await use(gateways[call % GATEWAYS] ?? '', secret);
    expect([200, 429]).toContain(status);
    if (status === 200) passed[call % GATEWAYS] = (passed[call % GATEWAYS] ?? 0) + 1;
  }
  return passed;
}

/** Requests that all gateways allowed; repeated if a busy machine kept a gateway from waiting for Redis. */
async function passedExactly(): Promise<number> {
  for (;;) {
    const [key, before] = [await newKey(), await decidedWithout()];
    const passed = await passedAtEach(key);
    if ((await decidedWithout()) === before) return passed.reduce((sum, count) => sum + count, 0);
  }
}

/** The number of rate limit decisions without Redis. */
async function decidedWithout(): Promise<number> {
  const texts = await Promise.all(metrics.map(async (url) => (await fetch(url)).text()));
  const counts = texts.flatMap(
    (text) => text.match(/^gateway_limit_decisions_total\{.*mode="degraded"\} \d+$/gm) ?? [],
  );
  return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

interface Call {
  isControl: boolean;
  /** From performance.now(). */
  at: number;
  ms: number;
  status: number;
}

/** Sends requests at a constant rate to the gateways in turn, and each time to the gateway without Redis. */
function keepCalling(secret: string): { stop(): Promise<Call[]> } {
  const calls: Promise<Call>[] = [];
  const call = async (gateway: string): Promise<Call> => {
    const at = performance.now();
    const { status } = await use(gateway, secret);
    return { isControl: gateway === control, at, ms: performance.now() - at, status };
  };
  const timer = setInterval(() => {
    calls.push(call(gateways[(calls.length / 2) % GATEWAYS] ?? ''), call(control));
  }, EVERY_MS);
  const stop = () => {
    clearInterval(timer);
    return Promise.all(calls);
  };
  return { stop };
}

/** The 99th percentile, in milliseconds. */
function percentile(calls: readonly Call[]): number {
  const sorted = calls.map(({ ms }) => ms).toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}
