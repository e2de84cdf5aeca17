import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, type TestContext, test } from 'vitest';
import { WAITING_TOGETHER, withinBound } from '#test/measure/bounds.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { startRedisNode, startRedisSentinel } from '#test/redis/nodes.ts';
import { soon } from '#test/soon.ts';
import { systemClock } from '../clock.ts';
import { connectRedis } from '../redis/client.ts';
import { Breakers } from '../resilience/breaker.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { startCluster } from './fixtures/cluster.ts';
import { GatewayLimiter } from './gateway-limiter.ts';

/** The time until an idle gateway uses Redis again. */
const RECOVERY_MS = 5_000;
const GUILDS = Array.from({ length: 20 }, (_, index) => `90000000000000${1_000 + index}`);

/** The processes that a test starts. They are stopped when the test ends. */
class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'guild-data-recovery-'));
  readonly #cleanups: (() => unknown)[] = [() => rmSync(this.folder, { recursive: true, force: true })];

  constructor({ onTestFinished }: TestContext) {
    onTestFinished(async () => {
      for (const cleanup of this.#cleanups.toReversed()) await cleanup();
    });
  }

  afterwards(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  /** A gateway's limiter. `load` sends a request for each of many guilds; `state` reads the metrics. */
  async startLimiter(url: string) {
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
    const metrics = new Metrics();
    const breakers = new Breakers(metrics);
    const connection = connectRedis(url, { name: 'test', log, commandTimeoutMs: null });
    const parts = { redis: connection.client, replicas: 1, clock: systemClock, log, metrics, breakers };
    const limiter = new GatewayLimiter(parts);
    this.afterwards(() => breakers.stop());
    this.afterwards(() => connection.stop());
    await connection.start();
    const load = () =>
      Promise.all(
        GUILDS.map(async (guildId) => limiter.decide(guildId, [{ category: 'lookup', limit: 1e6, subject: guildId }])),
      );
    const state = async () => {
      const text = await metrics.registry.metrics();
      const open = [...text.matchAll(/^breaker_open\{.*\} 1$/gm)].length;
      return { degraded: /^gateway_limiter_degraded 1$/m.test(text), open };
    };
    return { load, state, lines };
  }
}

type Limiter = Awaited<ReturnType<Stage['startLimiter']>>;

async function untilExact({ load }: Limiter): Promise<void> {
  await soon(async () => expect(new Set((await load()).map(({ mode }) => mode))).toEqual(new Set(['exact'])));
}

async function untilLost({ load, state }: Limiter, servers = 1): Promise<void> {
  await soon(async () => {
    await load();
    expect((await state()).open).toBeGreaterThanOrEqual(servers);
  });
}

/** No request is sent while the limiter recovers. */
async function expectRecovery(limiter: Limiter, name: string): Promise<void> {
  const { state, lines } = limiter;
  const started = performance.now();
  await soon(async () => expect(await state()).toEqual({ degraded: false, open: 0 }), 20);
  withinBound(`an idle gateway uses Redis again: ${name}`, performance.now() - started, RECOVERY_MS);
  expect(lines.filter((line) => line.startsWith('rate limits are')).at(-1)).toBe(
    'rate limits are counted in Redis again',
  );
  await untilExact(limiter);
}

const FAULTS: [string, (proxy: TcpProxy) => unknown, (proxy: TcpProxy) => unknown][] = [
  ['down', (proxy) => proxy.refuse(), (proxy) => proxy.accept()],
  ['slow', (proxy) => proxy.slow(500), (proxy) => proxy.slow(0)],
  ['silent', (proxy) => proxy.hold(), (proxy) => proxy.release()],
  ['unreachable', (proxy) => proxy.freezeAll(), (proxy) => proxy.thaw()],
  ['interrupted', (proxy) => proxy.resetAfter(1), (proxy) => proxy.resetAfter(null)],
];

describe('a gateway that gets no request', WAITING_TOGETHER, () => {
  test.for(FAULTS)('uses a Redis again that was %s', async ([name, begin, end], context) => {
    const stage = new Stage(context);
    const node = await startRedisNode(stage.folder, []);
    stage.afterwards(() => node.stop());
    const proxy = await startTcpProxy(node.port);
    stage.afterwards(() => proxy.close());
    const limiter = await stage.startLimiter(`redis://127.0.0.1:${proxy.port}`);
    await untilExact(limiter);
    await begin(proxy);
    await untilLost(limiter);
    await end(proxy);
    await expectRecovery(limiter, name);
  });

  test('uses the masters of a Redis Cluster again that hung', async (context) => {
    const stage = new Stage(context);
    const cluster = await startCluster();
    stage.afterwards(() => cluster.stop());
    const limiter = await stage.startLimiter(cluster.url);
    await untilExact(limiter);
    const [first] = cluster.masters;
    process.kill(first?.node.pid() ?? 0, 'SIGSTOP');
    stage.afterwards(() => process.kill(first?.node.pid() ?? 0, 'SIGCONT'));
    await untilLost(limiter);
    process.kill(first?.node.pid() ?? 0, 'SIGCONT');
    await expectRecovery(limiter, 'a master of a Cluster that hung');
    for (const { proxy } of cluster.masters) proxy.freezeAll();
    await untilLost(limiter, cluster.masters.length);
    for (const { proxy } of cluster.masters) proxy.thaw();
    await expectRecovery(limiter, 'all masters of a Cluster, unreachable');
  });

  test('uses a primary that a sentinel has promoted', async (context) => {
    const stage = new Stage(context);
    const { primary, replica, sentinel, url } = await startRedisSentinel(stage.folder);
    stage.afterwards(() => Promise.all([primary, replica, sentinel].map((node) => node.stop())));
    const limiter = await stage.startLimiter(url);
    await untilExact(limiter);
    process.kill(primary.pid(), 'SIGSTOP');
    await untilLost(limiter);
    await expectRecovery(limiter, 'a primary that hung, its replica promoted');
  });
});
