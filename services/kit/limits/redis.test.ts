import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PATIENCE } from '#test/patience.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { type RedisNode, startRedisCluster } from '#test/redis/nodes.ts';
import { connectRedis, type RedisConnection } from '../redis/client.ts';
import { type Limit, type Limiter, limitKey } from './limiter.ts';
import { limiterSuite } from './limits.suite.ts';
import { exactDecision, RedisLimiter } from './redis.ts';

/** About 30 years: no window ends during a test. */
const ENDLESS_MS = 1e12;
const GUILD = '900000000000000001';

let url: string;
let connections: RedisConnection[];

beforeAll(async () => {
  url = await testRedisUrl();
  connections = await Promise.all([connect(url), connect(url)]);
});
afterAll(() => Promise.all(connections.map((connection) => connection.stop())));

async function connect(to: string): Promise<RedisConnection> {
  const connection = connectRedis(to, { name: 'test', log: pino({ level: 'silent' }), commandTimeoutMs: null });
  await connection.start();
  await vi.waitFor(() => expect(connection.client.status).toBe('ready'), PATIENCE);
  return connection;
}

function client(index = 0) {
  const connection = connections[index];
  if (!connection) throw new Error('not connected');
  return connection.client;
}

function createLimiter(redis: RedisConnection['client'], windowMs = ENDLESS_MS): RedisLimiter {
  return new RedisLimiter(redis, { windowMs, guard: (_server, call) => call() });
}

/** Decides by the counts in Redis alone. */
function deciding(limiter: RedisLimiter): Limiter {
  return { decide: async (guildId, limits) => exactDecision(limits, await limiter.count(guildId, limits)) };
}

limiterSuite('Redis', async () => {
  await client().flushdb();
  return deciding(createLimiter(client()));
});

describe('Redis limiter', () => {
  test('windows end by the clock of Redis; a new one starts at 0, and the key expires soon afterwards', async () => {
    const windowMs = 1_000;
    const limiter = createLimiter(client(), windowMs);
    const limit: Limit = { category: 'lookup', limit: 3, subject: 'edge' };
    const windows = new Map<number, { allowed: number; rejected: number }>();
    const count = async () => {
      const { window, allowed, resetMs } = await limiter.count(GUILD, [limit]);
      const seen = windows.get(window) ?? { allowed: 0, rejected: 0 };
      windows.set(window, { allowed: seen.allowed + Number(allowed), rejected: seen.rejected + Number(!allowed) });
      expect(resetMs).toBeGreaterThan(0);
      expect(resetMs).toBeLessThanOrEqual(windowMs);
      return windows.size;
    };
    await expect.poll(count, { interval: 5 }).toBe(3);
    const seen = [...windows.values()];
    expect(Math.max(...seen.map(({ allowed }) => allowed))).toBe(limit.limit);
    // Nothing was rejected below the limit of a window.
    expect(seen.filter(({ allowed, rejected }) => rejected > 0 && allowed !== limit.limit)).toEqual([]);
    const key = limitKey(GUILD, limit);
    expect(await client().pttl(key)).toBeLessThanOrEqual(2 * windowMs);
    await expect.poll(() => client().exists(key)).toBe(0);
  });

  test('there is one key for each limit, in the slot of the guild, and no other key', async () => {
    await client().flushdb();
    const limits: Limit[] = [
      { category: 'lookup', limit: 3, subject: GUILD },
      { category: 'api_key', limit: 3, subject: 'key-1' },
    ];
    await createLimiter(client()).count(GUILD, limits);
    const keys = await client().keys('*');
    expect(keys.toSorted()).toEqual(limits.map((limit) => limitKey(GUILD, limit)).toSorted());
    expect(keys.every((key) => key.includes(`{${GUILD}}`))).toBe(true);
  });

  test('a rejected request writes nothing', async () => {
    await client().flushdb();
    const limiter = createLimiter(client());
    const rejected = await limiter.count(GUILD, [
      { category: 'lookup', limit: 3, subject: GUILD },
      { category: 'api_key', limit: 0, subject: 'key-1' },
    ]);
    expect(rejected.allowed).toBe(false);
    expect(await client().dbsize()).toBe(0);
  });

  test('a server without the script is sent it again, also with many concurrent calls', async () => {
    await client().flushdb();
    const limiter = createLimiter(client());
    await client().script('FLUSH');
    const limit: Limit = { category: 'lookup', limit: 10, subject: GUILD };
    const decisions = await Promise.all(Array.from({ length: 30 }, () => limiter.count(GUILD, [limit])));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
  });

  test('counts continue from those that the caller knows of this window, not of another', async () => {
    await client().flushdb();
    const limiter = createLimiter(client());
    const limits: Limit[] = [{ category: 'lookup', limit: 10, subject: GUILD }];
    const { window } = await limiter.count(GUILD, limits);
    expect((await limiter.count(GUILD, limits, { window: window - 1, known: [8], deadline: 0 })).counts).toEqual([2]);
    expect((await limiter.count(GUILD, limits, { window, known: [1], deadline: 0 })).counts).toEqual([3]);
    expect((await limiter.count(GUILD, limits, { window, known: [8], deadline: 0 })).counts).toEqual([9]);
    expect(await limiter.count(GUILD, limits, { window, known: [12], deadline: 0 })).toMatchObject({
      allowed: false,
      counts: [12],
    });
    expect(await limiter.count(GUILD, limits)).toMatchObject({ allowed: false, counts: [12] });
  });

  test('a request that arrives after its deadline is reported as late and not counted', async () => {
    await client().flushdb();
    const limiter = createLimiter(client());
    const limits: Limit[] = [{ category: 'lookup', limit: 10, subject: GUILD }];
    const [seconds = 0] = await client().time();
    const deadline = seconds * 1000 - 60_000;
    expect(await limiter.count(GUILD, limits, { window: -1, known: [], deadline })).toMatchObject({ isLate: true });
    expect(await client().dbsize()).toBe(0);
    const inTime = { window: -1, known: [], deadline: deadline + 120_000 };
    expect(await limiter.count(GUILD, limits, inTime)).toMatchObject({ isLate: false, allowed: true, counts: [1] });
  });

  const scriptCalls = async () =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client().info('commandstats'))?.[1] ?? 0);

  test('requests of one batch are decided one after the other, each by itself', async () => {
    await client().flushdb();
    const limiter = createLimiter(client());
    const shared: Limit = { category: 'lookup', limit: 3, subject: GUILD };
    const cap: Limit = { category: 'api_key', limit: 1, subject: 'key-1' };
    const [seconds = 0] = await client().time();
    const { window } = await limiter.count(GUILD, [{ ...shared, subject: 'another' }]);
    const late = { window, known: [9], deadline: seconds * 1000 - 60_000 };
    const before = await scriptCalls();
    const replies = await Promise.all([
      limiter.count(GUILD, [shared, cap]),
      limiter.count(GUILD, [shared], late),
      limiter.count(GUILD, [shared, cap]),
      limiter.count('900000000000000002', [cap]),
      limiter.count(GUILD, [shared]),
      limiter.count(GUILD, [shared]),
      limiter.count(GUILD, [shared]),
    ]);
    expect(replies.map(({ allowed, isLate, counts }) => [allowed, isLate, ...counts])).toEqual([
      [true, false, 1, 1],
      [false, true, 1],
      [false, false, 1, 1],
      [true, false, 1],
      [true, false, 2],
      [true, false, 3],
      [false, false, 3],
    ]);
    expect((await scriptCalls()) - before).toBe(1);
  });

  test('a check counts nothing and stores nothing', async () => {
    await client().flushdb();
    const limiter = createLimiter(client());
    for (const server of limiter.servers) await limiter.check(server);
    await limiter.check('10.0.0.1:1');
    expect(await client().keys('*')).toEqual([]);
  });

  test('two gateways allow exactly the limit together, whatever the order of requests', async () => {
    const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1e9);
    const numbers = seededRandom(seed);
    const random = (below: number) => wholeNumber(numbers, below);
    for (let round = 0; round < 20; round += 1) {
      await client().flushdb();
      const limiters = [createLimiter(client(0)), createLimiter(client(1))];
      const { limits, allowed } = await randomSchedule(limiters, random);
      const over = [...limits].filter(([key, { limit }]) => (allowed.get(key) ?? 0) > limit);
      expect(over, `seed ${seed}, round ${round}: over the limit`).toEqual([]);
      // Requests that have only this limit are allowed up to the limit.
      const alone = [...limits].filter(([key]) => key.includes('lookup'));
      const under = alone.filter(([key, { limit, requests }]) => (allowed.get(key) ?? 0) < Math.min(limit, requests));
      expect(under, `seed ${seed}, round ${round}: rejected too early`).toEqual([]);
    }
  });
});

/** Sends concurrent requests with one limit, and with two of which one is shared, in random order and number. */
async function randomSchedule(limiters: RedisLimiter[], random: (below: number) => number) {
  const limits = new Map<string, { limit: number; requests: number }>();
  const allowed = new Map<string, number>();
  const caps = { lookup: 1 + random(30), members_read: 1 + random(30), api_key: 1 + random(30) };
  const send = async () => {
    const guild = `90000000000000000${random(2)}`;
    const single: Limit[] = [{ category: 'lookup', limit: caps.lookup, subject: guild }];
    const double: Limit[] = [
      { category: 'members_read', limit: caps.members_read, subject: guild },
      { category: 'api_key', limit: caps.api_key, subject: `key-${random(2)}` },
    ];
    const wanted = random(2) === 0 ? single : double;
    const keys = wanted.map((limit) => ({ key: limitKey(guild, limit), limit: limit.limit }));
    for (const { key, limit } of keys) limits.set(key, { limit, requests: (limits.get(key)?.requests ?? 0) + 1 });
    if (random(3) === 0) await pause(random(3));
    const decision = await limiters[random(limiters.length)]?.count(guild, wanted);
    if (decision?.allowed) for (const { key } of keys) allowed.set(key, (allowed.get(key) ?? 0) + 1);
  };
  await Promise.all(Array.from({ length: 20 + random(200) }, send));
  return { limits, allowed };
}

describe('Redis Cluster limiter', () => {
  let folder: string;
  let nodes: RedisNode[] = [];
  let cluster: RedisConnection;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'guild-data-cluster-'));
    nodes = await startRedisCluster(folder, 3);
    cluster = await connect(`redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`);
  });
  afterAll(async () => {
    await cluster?.stop();
    await Promise.all(nodes.map((node) => node.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  limiterSuite('Redis Cluster', async () => {
    await Promise.all(nodes.map(({ port }) => flush(port)));
    return deciding(createLimiter(cluster.client));
  });

  test('guilds are spread over the nodes, and all limits of one request are decided on one node', async () => {
    await Promise.all(nodes.map(({ port }) => flush(port)));
    const limiter = createLimiter(cluster.client);
    for (let guild = 0; guild < 40; guild += 1) {
      const decision = await limiter.count(String(guild), [
        { category: 'lookup', limit: 3, subject: String(guild) },
        { category: 'api_key', limit: 3, subject: `key-${guild}` },
      ]);
      expect(decision.allowed).toBe(true);
    }
    const sizes = await Promise.all(nodes.map(({ port }) => size(port)));
    expect(sizes.reduce((sum, count) => sum + count, 0)).toBe(80);
    expect(sizes.every((count) => count > 0)).toBe(true);
  });

  test('a cluster that was down is used again when it is up', async () => {
    const limiter = createLimiter(cluster.client);
    const limits: Limit[] = [{ category: 'lookup', limit: 1e6, subject: GUILD }];
    const count = (guild: string) =>
      limiter.count(guild, limits).then(
        ({ allowed }) => allowed,
        () => false,
      );
    const guilds = ['1', '2', '3', '4'];
    await Promise.all(nodes.map((node) => node.stop()));
    expect(await Promise.all(guilds.map(count))).toEqual([false, false, false, false]);
    await Promise.all(nodes.map((node) => node.start()));
    await expect.poll(() => Promise.all(guilds.map(count))).toEqual([true, true, true, true]);
  });
});

async function withNode<Result>(port: number, work: (node: RedisConnection['client']) => Promise<Result>) {
  const node = await connect(`redis://127.0.0.1:${port}`);
  try {
    return await work(node.client);
  } finally {
    await node.stop();
  }
}

const flush = (port: number) => withNode(port, (node) => node.flushdb());
const size = (port: number) => withNode(port, (node) => node.dbsize());
