import { expect, test } from 'vitest';
import type { RedisClient } from '../redis/client.ts';
import { RedisLimiter } from './redis.ts';

const VALUES_PER_REQUEST = 5;
const GUILD = '900000000000000001';

/** A client whose script reports each request's limit as its count. `calls` has the number of requests of each call. */
function fakeRedis() {
  const calls: number[] = [];
  const evalsha = (_sha1: string, keyCount: number, ...words: (string | number)[]) => {
    calls.push(keyCount);
    const values = words.slice(keyCount + 1);
    const reply = [7, 1_000];
    for (let at = 0; at < values.length; at += VALUES_PER_REQUEST) reply.push(1, Number(values[at + 3]));
    return Promise.resolve(reply);
  };
  return { calls, redis: { status: 'ready', evalsha } as unknown as RedisClient };
}

const count = (limiter: RedisLimiter, limit: number) =>
  limiter.count(GUILD, [{ category: 'lookup', limit, subject: String(limit) }]);
const numbers = (length: number) => Array.from({ length }, (_, index) => index + 1);

test('a call decides at most 64 requests, and each request gets its own counts', async () => {
  const { calls, redis } = fakeRedis();
  const limiter = new RedisLimiter(redis, { guard: (_server, call) => call() });
  const results = await Promise.all(numbers(150).map((limit) => count(limiter, limit)));
  expect(results.map(({ counts }) => counts)).toEqual(numbers(150).map((limit) => [limit]));
  expect(calls).toEqual([64, 64, 22]);
  expect((await count(limiter, 9)).counts).toEqual([9]);
  expect(calls).toHaveLength(4);
});

test('a call that fails rejects all of its requests and no others', async () => {
  const { redis } = fakeRedis();
  let calls = 0;
  const guard = <Reply>(_server: string, call: () => Promise<Reply>) =>
    calls++ === 0 ? Promise.reject(new Error('connection lost')) : call();
  const limiter = new RedisLimiter(redis, { guard });
  const outcomes = await Promise.allSettled(numbers(100).map((limit) => count(limiter, limit)));
  expect(outcomes.map(({ status }) => status)).toEqual([...Array(64).fill('rejected'), ...Array(36).fill('fulfilled')]);
  expect((await count(limiter, 1)).allowed).toBe(true);
});
