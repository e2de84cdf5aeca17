import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Breakers } from '../resilience/breaker.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { RedisBreakers } from './redis-breakers.ts';

let metrics: Metrics;
let breakers: Breakers;
let redis: RedisBreakers;
/** The servers that were probed, and whether they respond. */
let probed: string[];
let responds: boolean;
let changes: number;

beforeEach(() => {
  vi.useFakeTimers();
  metrics = new Metrics();
  breakers = new Breakers(metrics);
  probed = [];
  responds = false;
  changes = 0;
  const probe = async (server: string) => {
    probed.push(server);
    if (!responds) throw new Error('no response');
  };
  redis = new RedisBreakers({ breakers, probe, changed: () => changes++ });
});
afterEach(() => {
  breakers.stop();
  vi.useRealTimers();
});

const fail = (server: string, message = 'no response') =>
  expect(redis.of(server).run(() => Promise.reject(new Error(message)))).rejects.toThrow(message);

test('the breaker of a server that fails opens; those of the others stay closed', async () => {
  redis.of('other');
  await fail('hung');
  expect([redis.of('hung').isOpen, redis.of('other').isOpen]).toEqual([true, false]);
  expect([redis.isAnyOpen(['hung', 'other']), redis.isAnyOpen(['other', 'unused'])]).toEqual([true, false]);
});

test('a failed server is probed in the background until it responds, and no request is used as the probe', async () => {
  await fail('hung');
  expect(changes).toBe(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(redis.of('hung').isOpen).toBe(true);
  expect(probed.length).toBeGreaterThan(3);
  expect(new Set(probed)).toEqual(new Set(['hung']));
  const call = vi.fn<() => Promise<string>>(async () => 'a response');
  await expect(redis.of('hung').run(call)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(call).not.toHaveBeenCalled();
  responds = true;
  await vi.advanceTimersByTimeAsync(300);
  expect(redis.of('hung').isOpen).toBe(false);
  expect(changes).toBeGreaterThan(1);
  expect(await redis.of('hung').run(call)).toBe('a response');
});

test('a slot that is being moved does not open the breaker', async () => {
  await fail('redis', 'TRYAGAIN Multiple keys request during rehashing of slot');
  expect(redis.of('redis').isOpen).toBe(false);
});

test('however many servers come and go, the number of breakers is bounded and they are named by numbers', async () => {
  for (let server = 0; server < 1_000; server += 1) redis.of(`10.0.0.1:${server}`);
  const { values } = (await metrics.registry.getSingleMetric('breaker_open')?.get()) ?? { values: [] };
  expect(values).toHaveLength(32);
  const names = values.map(({ labels }) => labels['dependency']);
  expect(names.slice(0, 3)).toEqual(['redis', 'redis 1', 'redis 2']);
  expect(redis.of('10.0.0.1:999')).toBe(redis.of('10.0.0.1:999'));
  await fail('10.0.0.1:999');
  await vi.advanceTimersByTimeAsync(200);
  expect(probed).toEqual(['10.0.0.1:999']);
});
