import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WAITING_TOGETHER } from '#test/measure/bounds.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { RedisSlots } from './redis-slots.ts';
import { sharesSuite } from './shares.suite.ts';
import { callSlotsSuite } from './slots.suite.ts';
import type { Allowance } from './slots.ts';

let redis: Redis;
beforeAll(async () => {
  redis = new Redis(await testRedisUrl());
});
afterAll(() => redis.disconnect());

const create = async (allowance: Allowance, name: string = randomUUID()) => {
  // The connection opens with the first command.
  await redis.ping();
  return new RedisSlots({ redis, name, allowance });
};

describe('slots in Redis', WAITING_TOGETHER, () => {
  callSlotsSuite((slots) => create({ slots, windowMs: 1_000 }));
  sharesSuite(create);
});

test('all keys in Redis expire when no calls are made any more, and are in one slot of a Redis Cluster', async () => {
  const name = randomUUID();
  const slots = await create({ slots: 1, windowMs: 60_000 }, name);
  for (const guildId of ['1', '2']) await slots.acquire({ id: randomUUID(), guildId, purpose: 'caller' });
  const keys = (await redis.keys('*')).filter((key) => key.includes(name));
  expect(keys.length).toBeGreaterThan(5);
  for (const key of keys) expect(await redis.pttl(key)).toBeGreaterThan(0);
  expect(keys.filter((key) => !key.startsWith(`{budget:${name}}:`))).toEqual([]);
});

test('Redis stores no more for a guild whose calls wait because of its share', async () => {
  const name = randomUUID();
  const slots = await create({ slots: 4, windowMs: 60_000 }, name);
  const acquire = (guildId: string) => slots.acquire({ id: randomUUID(), guildId, purpose: 'caller' });
  await acquire('other');
  for (let call = 0; call < 100; call++) await acquire('greedy');
  expect(await redis.zcard(`{budget:${name}}:waiting`)).toBe(0);
  expect(await redis.zcard(`{budget:${name}}:seen`)).toBe(0);
  expect(await redis.zcard(`{budget:${name}}:guilds`)).toBe(2);
});
