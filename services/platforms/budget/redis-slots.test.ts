import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testRedisUrl } from '#test/redis/database.ts';
import { RedisTurns } from './redis-slots.ts';
import { turnsSuite } from './slots.suite.ts';

let redis: Redis;
beforeAll(async () => {
  redis = new Redis(await testRedisUrl());
});
afterAll(() => redis.disconnect());

const newTurns = async (places: number) => {
  // The connection opens with the first command.
  await redis.ping();
  return new RedisTurns(redis, randomUUID(), { places, windowMs: 1_000 });
};

describe('turns in Redis', () => {
  turnsSuite(newTurns);
});

test('nothing stays behind in Redis when nobody has called for a minute', async () => {
  const turns = await newTurns(1);
  for (const guildId of ['1', '2']) await turns.take({ id: randomUUID(), guildId, purpose: 'caller' });
  const keys = await redis.keys('{budget:*');
  expect(keys.length).toBeGreaterThan(3);
  for (const key of keys) expect(await redis.pttl(key)).toBeGreaterThan(0);
});
