import { expect, test, vi } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { BatchCache } from './batch-cache.ts';

type Load = (keys: readonly number[]) => Promise<ReadonlyMap<number, string>>;

function cacheOf(load: Load) {
  const clock = new ManualClock();
  const remember = (value: string) => value !== 'unknown';
  return { clock, cache: new BatchCache({ ttlMs: 1000, max: 4, batch: 3, clock, load, remember }) };
}

const name: Load = async (keys) => new Map(keys.map((key) => [key, `#${key}`]));

test('many keys are loaded in batches, each key once while it is fresh', async () => {
  const load = vi.fn<Load>(name);
  const { clock, cache } = cacheOf(load);
  expect(await cache.get([1, 2, 3, 4, 1])).toEqual(new Map([1, 2, 3, 4].map((key) => [key, `#${key}`])));
  expect(load.mock.calls).toEqual([[[1, 2, 3]], [[4]]]);
  clock.advance(999);
  await cache.get([4, 1]);
  expect(load).toHaveBeenCalledTimes(2);
  clock.advance(1);
  await cache.get([4, 1]);
  expect(load).toHaveBeenLastCalledWith([4, 1]);
});

test('what is not to be remembered is loaded again', async () => {
  const load = vi.fn<Load>(async (keys) => new Map(keys.map((key) => [key, key === 1 ? 'unknown' : 'known'])));
  const { cache } = cacheOf(load);
  await cache.get([1, 2]);
  expect(await cache.get([1, 2])).toEqual(
    new Map([
      [1, 'unknown'],
      [2, 'known'],
    ]),
  );
  expect(load.mock.calls).toEqual([[[1, 2]], [[1]]]);
});

test('a load that fails is told to all who wait for it, and tried again', async () => {
  const load = vi.fn<Load>(name).mockRejectedValueOnce(new Error('gone'));
  const { cache } = cacheOf(load);
  const asked = await Promise.allSettled([cache.get([1, 2]), cache.get([2])]);
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await cache.get([1])).toEqual(new Map([[1, '#1']]));
});

test('no more is kept than there is room for, the latest first', async () => {
  const load = vi.fn<Load>(name);
  const { cache } = cacheOf(load);
  await cache.get([1, 2, 3]);
  await cache.get([4, 5, 6]);
  await cache.get([3, 4, 5, 6]);
  expect(load).toHaveBeenCalledTimes(2);
  await cache.get([2]);
  expect(load).toHaveBeenLastCalledWith([2]);
});
