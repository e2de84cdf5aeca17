// Guarantees of fairness and of the number of invalid requests, for many processes that share one Redis.
import { performance } from 'node:perf_hooks';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withPurpose } from '#kit/context.ts';
import { connectRedis } from '#kit/redis/client.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { withinBound } from '#test/measure/bounds.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { CallBudget } from './budget.ts';
import { PlatformLimits } from './limits.ts';
import { SharedRedis } from './shared-redis.ts';

const log = pino({ level: 'silent' });
const PROCESSES = 40;
const WAITING = 10_000;
const GREEDY = '900000000000000001';
const OTHER = '900000000000000002';
const LIMIT = 'roles of members of 900000000000000001';

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

/** Connects to Redis as a further process does. */
async function connect(processes: number): Promise<SharedRedis> {
  const breakers = new Breakers(new Metrics());
  const connection = connectRedis(url, { name: 'test', log });
  await connection.start();
  await vi.waitFor(() => connection.client.ping(), PATIENCE);
  cleanups.push(
    () => connection.stop(),
    () => breakers.stop(),
  );
  return new SharedRedis({ redis: connection.client, processes, breakers, log });
}

const budgetWith = (shared: SharedRedis) =>
  new CallBudget({
    shared,
    platform: 'chat',
    credential: 'token',
    allowance: { slots: 50, windowMs: 1_000 },
    metrics: new Metrics(),
  });

/** Returns the milliseconds until a call of this guild is allowed. */
async function delayOf(budget: CallBudget, guildId: string): Promise<number> {
  const started = performance.now();
  await budget.run(guildId, 60_000, async () => undefined);
  return performance.now() - started;
}

test(`a guild with ${WAITING} waiting calls delays a call of another guild by less than 1.5 s`, async () => {
  const budgets = await Promise.all(
    Array.from({ length: PROCESSES }, async () => budgetWith(await connect(PROCESSES))),
  );
  const until = performance.now() + 15_000;
  let made = 0;
  const wait = (budget: CallBudget) =>
    budget.run(GREEDY, Math.max(1, until - performance.now()), async () => void (made += 1)).catch(() => undefined);
  const waiting = budgets.flatMap((budget) => Array.from({ length: WAITING / PROCESSES }, () => wait(budget)));
  await vi.waitUntil(() => made > 100, PATIENCE);
  const delays: number[] = [];
  for (const budget of budgets.slice(0, 3)) delays.push(await delayOf(budget, OTHER));
  expect(delays).toHaveLength(3);
  withinBound('delay of a call by 10,000 waiting calls of another guild', Math.max(...delays), 1_500);
  const before = made;
  // The calls of the other guild do not stop those of the first one either.
  await vi.waitUntil(() => made > before + 20, PATIENCE);
  await Promise.all(waiting);
}, 60_000);

test('a guild whose waiting calls gave up is not put behind the turns that they had', async () => {
  const budget = budgetWith(await connect(1));
  const occupy = () => Array.from({ length: 50 }, (_, index) => delayOf(budget, `holder ${index}`));
  await Promise.all(occupy());
  const gaveUp = await Promise.allSettled(
    Array.from({ length: 200 }, () => budget.run(OTHER, 50, async () => undefined)),
  );
  expect(gaveUp.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(100);
  // From here on the queue is never empty.
  const waiting = Array.from({ length: 200 }, () => delayOf(budget, GREEDY));
  const again = await delayOf(budget, OTHER);
  await Promise.all(waiting);
  expect(again).toBeGreaterThan(0);
  withinBound('delay of a guild whose calls gave up', again, 2_500);
}, 60_000);

test('a process rejects the 251st waiting call of a guild and purpose at once, and those of other guilds wait', async () => {
  const budget = budgetWith(await connect(1));
  const started = performance.now();
  const calls = withPurpose('job', () =>
    Array.from({ length: 400 }, () => budget.run(GREEDY, 1_000, async () => 'made').catch(() => performance.now())),
  );
  const other = await budget.run(OTHER, 5_000, async () => 'made');
  expect(other).toBe('made');
  const outcomes = await Promise.all(calls);
  const atOnce = outcomes.filter((at) => typeof at === 'number' && at - started < 500);
  expect(atOnce.length).toBeGreaterThanOrEqual(150);
}, 60_000);

test('invalid requests that were made while Redis was down count for all processes when it is back', async () => {
  const limitsOf = async () =>
    new PlatformLimits({
      shared: await connect(2),
      platform: 'chat platform',
      credential: 'token',
      maxInvalid: 10,
    });
  const [one, other] = [await limitsOf(), await limitsOf()];
  const isRejected = (limits: PlatformLimits) =>
    limits.permit(LIMIT).then(
      () => false,
      () => true,
    );
  proxy.cut();
  await proxy.refuse();
  for (const limits of [one, other]) for (let call = 0; call < 5; call++) limits.note(LIMIT, { isInvalid: true });
  // Each process has made its share.
  await expect.poll(async () => [await isRejected(one), await isRejected(other)]).toEqual([true, true]);
  await proxy.accept();
  // Also a process that has made none itself makes none: together they have made all.
  const third = await limitsOf();
  await expect.poll(() => isRejected(third), PATIENCE).toBe(true);
});

test('a pause that was reported while Redis was down holds for all processes when it is back', async () => {
  const limitsOf = async () =>
    new PlatformLimits({ shared: await connect(2), platform: 'chat platform', credential: 'token' });
  const [one, other] = [await limitsOf(), await limitsOf()];
  proxy.cut();
  await proxy.refuse();
  one.note(LIMIT, { pause: { ms: 60_000, isWholeHost: true }, isInvalid: false });
  await proxy.accept();
  await expect
    .poll(
      () =>
        other.permit(LIMIT).then(
          () => 'permitted',
          ({ code }: { code: string }) => code,
        ),
      PATIENCE,
    )
    .toBe('UNAVAILABLE');
});
