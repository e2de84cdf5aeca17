import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WAITING_TOGETHER } from '#test/measure/bounds.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { RedisSlots } from './redis-slots.ts';
import { callSlotsSuite } from './slots.suite.ts';

let redis: Redis;
beforeAll(async () => {
  redis = new Redis(await testRedisUrl());
});
afterAll(() => redis.disconnect());

const create = async (slots: number) => {
  // The connection opens with the first command.
  await redis.ping();
  return new RedisSlots({ redis, name: randomUUID(), allowance: { slots, windowMs: 1_000 } });
};

describe('slots in Redis', WAITING_TOGETHER, () => {
  callSlotsSuite(create);
});

test('all keys in Redis expire when no calls are made any more', async () => {
  const slots = await create(1);
  for (const guildId of ['1', '2']) await slots.acquire({ id: randomUUID(), guildId, purpose: 'caller' });
  const keys = await redis.keys('{budget:*');
  expect(keys.length).toBeGreaterThan(3);
  for (const key of keys) expect(await redis.pttl(key)).toBeGreaterThan(0);
});
