import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Breakers } from '#kit/breaker.ts';
import { Metrics } from '#kit/metrics.ts';
import { RedisBreakers } from './redis-breakers.ts';

let metrics: Metrics;
let breakers: Breakers;
let redis: RedisBreakers;

beforeEach(() => {
  vi.useFakeTimers();
  metrics = new Metrics();
  breakers = new Breakers(metrics);
  redis = new RedisBreakers(breakers);
});
afterEach(() => {
  breakers.stop();
  vi.useRealTimers();
});

const fail = (server: string, message = 'no answer') =>
  expect(redis.of(server).run(() => Promise.reject(new Error(message)))).rejects.toThrow(message);

test('one server that does not answer is not waited for; the others are', async () => {
  redis.of('other');
  await fail('hung');
  expect([redis.of('hung').isOpen, redis.of('other').isOpen]).toEqual([true, false]);
  expect([redis.isAnyOpen(['hung', 'other']), redis.isAnyOpen(['other', 'never asked'])]).toEqual([true, false]);
});

test('it may be tried again soon, once', async () => {
  await fail('redis');
  expect(redis.of('redis').mayTry).toBe(false);
  await vi.advanceTimersByTimeAsync(100);
  expect(redis.of('redis').mayTry).toBe(true);
  const trial = redis.of('redis').run(async () => 'an answer');
  expect(redis.of('redis').mayTry).toBe(false);
  await trial;
  expect(redis.of('redis').isOpen).toBe(false);
});

test('a slot that is being moved says nothing of the server', async () => {
  await fail('redis', 'TRYAGAIN Multiple keys request during rehashing of slot');
  expect(redis.of('redis').isOpen).toBe(false);
});

test('servers that come and go leave a bounded number of breakers, named by numbers', async () => {
  for (let server = 0; server < 1_000; server += 1) redis.of(`10.0.0.1:${server}`);
  const { values } = (await metrics.registry.getSingleMetric('breaker_open')?.get()) ?? { values: [] };
  expect(values).toHaveLength(32);
  const names = values.map(({ labels }) => labels['dependency']);
  expect(names.slice(0, 3)).toEqual(['redis', 'redis 1', 'redis 2']);
  expect(redis.of('10.0.0.1:999')).toBe(redis.of('10.0.0.1:999'));
});
