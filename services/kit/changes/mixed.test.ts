import { afterAll, beforeAll, expect, test } from 'vitest';
import { withinBound } from '#test/measure/bounds.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { CachingReplica } from './fixtures/caching-replica.ts';
import { TestFeeds } from './fixtures/feeds.ts';

const GUILD = '900000000000000001';

let feeds: TestFeeds;
let redisUrl: string;
const committed = new Map<string, { value: number; at: number }>();

beforeAll(async () => {
  feeds = await TestFeeds.start();
  redisUrl = await testRedisUrl();
});
afterAll(() => feeds.stop());

const open = (isOverRedis: boolean) =>
  CachingReplica.open(committed, (handlers) =>
    feeds.open(handlers, false, isOverRedis ? async () => redisUrl : undefined),
  );

const sessions = () =>
  databaseRows<{ name: string }>(
    feeds.databaseUrl,
    `SELECT application_name AS name FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'test listener%' ORDER BY name`,
  );

test('replicas with and without Redis receive the changes of each other, and the latter cache only when all know of them', async () => {
  const over = await open(true);
  await expect.poll(() => over.feed.isReceiving).toBe(true);
  await expect.poll(sessions).toEqual([{ name: 'test listener over Redis' }]);
  // Like a replica of a version that knows nothing of Redis, or one that has lost it.
  const without = await open(false);
  const openedAt = performance.now();
  await expect.poll(sessions).toHaveLength(2);
  expect(without.feed.isReceiving).toBe(false);
  await expect.poll(() => without.feed.isReceiving, { timeout: 30_000 }).toBe(true);
  expect(performance.now() - openedAt).toBeGreaterThan(7_000);
  for (const [from, to] of [
    [over, without],
    [without, over],
  ] as const) {
    const value = to.read(GUILD);
    from.change(GUILD);
    const changedAt = performance.now();
    await expect.poll(() => to.read(GUILD), { interval: 5 }).toBe(value + 1);
    withinBound('a change between replicas with and without Redis', performance.now() - changedAt, 500);
  }
  await without.stop();
  await over.stop();
});

test('while all replicas receive changes over Redis, nothing is announced over the database', async () => {
  const [first, second] = [await open(true), await open(true)];
  await expect.poll(sessions).toEqual([{ name: 'test listener over Redis' }, { name: 'test listener over Redis' }]);
  const announced = async () => /over="database"\} (\d+)/.exec(await first.metrics.text())?.[1];
  // Each looks every five seconds how the other receives changes.
  await expect
    .poll(
      async () => {
        const before = await announced();
        second.received.clear();
        first.change(GUILD);
        await expect.poll(() => second.received.has(GUILD)).toBe(true);
        return Number(await announced()) - Number(before);
      },
      { timeout: 30_000, interval: 500 },
    )
    .toBe(0);
  await first.stop();
  await second.stop();
});
