import { setTimeout as wait } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { NameCache } from './names.ts';

/** A short maximum wait for tests with slow loads, so that they end soon. */
const SLOW_MS = 20;

const forever = () => new Promise<string>(() => undefined);

/** The maximum wait is long by default, so that a machine that stalls does not look like a slow platform. */
function cacheOf(load: (key: number) => Promise<string>, maxWaitMs = 60_000) {
  const clock = new ManualClock();
  const loads = vi.fn<typeof load>(load);
  return { names: new NameCache({ load: loads, ttlMs: 60_000, clock, maxWaitMs }), loads, clock };
}

test('each name is loaded once until its TTL has passed', async () => {
  const { names, loads, clock } = cacheOf(async (key) => `name ${key}`);
  expect(await names.of([1, 2, 1])).toEqual(
    new Map([
      [1, 'name 1'],
      [2, 'name 2'],
    ]),
  );
  clock.advance(59_999);
  await names.of([1, 2]);
  expect(loads).toHaveBeenCalledTimes(2);
  clock.advance(1);
  await names.of([2]);
  expect(loads).toHaveBeenCalledTimes(3);
});

test('a failed load affects only its own name, which keeps its last known value and is loaded again next time', async () => {
  let isDown = false;
  const { names, loads, clock } = cacheOf(async (key) => {
    if (isDown || key === 2) throw new Error('no');
    return `name ${key}`;
  });
  expect(await names.of([1, 2])).toEqual(new Map([[1, 'name 1']]));
  isDown = true;
  clock.advance(60_000);
  expect(await names.of([1, 2, 3])).toEqual(new Map([[1, 'name 1']]));
  expect(loads).toHaveBeenCalledTimes(5);
});

test('a caller waits for a slow platform only once in ten seconds, for a limited time and with few loads', async () => {
  let isSlow = false;
  const { names, loads, clock } = cacheOf((key) => (isSlow ? forever() : Promise.resolve(`name ${key}`)), SLOW_MS);
  await names.of([1]);
  isSlow = true;
  clock.advance(60_000);
  const keys = Array.from({ length: 500 }, (_, index) => index);
  expect(await names.of(keys)).toEqual(new Map([[1, 'name 1']]));
  expect(loads).toHaveBeenCalledTimes(11);
  expect(await names.of(keys)).toEqual(new Map([[1, 'name 1']]));
  expect(loads).toHaveBeenCalledTimes(11);
  isSlow = false;
  clock.advance(10_000);
  expect((await names.of(keys)).size).toBe(500);
});

test('the result of a slow load is cached when it arrives', async () => {
  let respond = (_name: string) => undefined as void;
  const { names } = cacheOf(() => new Promise((resolve) => (respond = resolve)), SLOW_MS);
  expect(await names.of([1])).toEqual(new Map());
  respond('late');
  await expect.poll(() => names.of([1])).toEqual(new Map([[1, 'late']]));
});

test('slow loads do not block names that were not loaded yet', async () => {
  const slow = new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const responses: (() => void)[] = [];
  const { names, loads, clock } = cacheOf(
    (key) =>
      slow.has(key)
        ? new Promise((resolve) => responses.push(() => resolve(`name ${key}`)))
        : Promise.resolve(`name ${key}`),
    SLOW_MS,
  );
  // The first ten loads are slow, so the eleventh is not started.
  const keys = Array.from({ length: 11 }, (_, index) => index);
  expect(await names.of(keys)).toEqual(new Map());
  expect(loads).toHaveBeenCalledTimes(10);
  for (const respond of responses) respond();
  await expect.poll(async () => (await names.of(keys)).size).toBe(11);
  // The ten slow names were loaded once, although they were late.
  expect(loads).toHaveBeenCalledTimes(11);
  expect(clock.now()).toBe(new ManualClock().now());
});

test('all callers together make ten concurrent loads, and a small request is not stuck behind a large one', async () => {
  let running = 0;
  let max = 0;
  const { names } = cacheOf(async (key) => {
    max = Math.max(max, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return `name ${key}`;
  });
  const first = names.of(Array.from({ length: 40 }, (_, index) => index));
  const second = names.of([1_000]);
  expect(await second).toEqual(new Map([[1_000, 'name 1000']]));
  expect((await first).size).toBe(40);
  expect(max).toBe(10);
});

test('a caller with more names than can be loaded in time does not keep others from getting names, and the rest is loaded once', async () => {
  const { names, loads } = cacheOf(async (key) => wait(2, `name ${key}`), SLOW_MS);
  const keys = Array.from({ length: 500 }, (_, index) => index);
  const first = await names.of(keys);
  expect(first.size).toBeGreaterThan(0);
  expect(first.size).toBeLessThan(500);
  expect(await names.of([1_000])).toEqual(new Map([[1_000, 'name 1000']]));
  await expect.poll(() => loads.mock.calls.length).toBe(501);
  expect((await names.of(keys)).size).toBe(500);
  expect(loads).toHaveBeenCalledTimes(501);
});

test('callers who want the same names share the loads', async () => {
  const { names, loads } = cacheOf(async (key) => wait(2, `name ${key}`));
  const keys = Array.from({ length: 20 }, (_, index) => index);
  const results = await Promise.all([names.of(keys), names.of(keys), names.of([19])]);
  expect(results.map(({ size }) => size)).toEqual([20, 20, 1]);
  expect(loads).toHaveBeenCalledTimes(20);
});

test('a load that starts late and takes too long makes the platform count as slow', async () => {
  const ends: (() => void)[] = [];
  const { names, loads } = cacheOf(
    (key) => (key < 10 ? new Promise((end) => ends.push(() => end('name'))) : forever()),
    200,
  );
  const first = names.of(Array.from({ length: 11 }, (_, index) => index));
  await expect.poll(() => ends.length).toBe(10);
  for (const end of ends) end();
  await first;
  expect(loads).toHaveBeenCalledTimes(11);
  await expect
    .poll(async () => {
      const began = performance.now();
      await names.of([2_000]);
      return performance.now() - began;
    })
    .toBeLessThan(100);
});
