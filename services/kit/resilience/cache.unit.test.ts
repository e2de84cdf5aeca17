import { expect, test, vi } from 'vitest';
import { ManualClock } from '../clock.ts';
import { LoadingCache } from './cache.ts';

type Load = (key: string) => Promise<unknown>;

function cacheOf(load: Load) {
  const clock = new ManualClock();
  return { clock, cache: new LoadingCache({ ttlMs: 1000, max: 2, clock, load }) };
}

test('a value is loaded once while it is fresh, and again after', async () => {
  const load = vi.fn<Load>(async (key) => `${key}!`);
  const { clock, cache } = cacheOf(load);
  expect([await cache.get('a'), await cache.get('a')]).toEqual(['a!', 'a!']);
  clock.advance(999);
  await cache.get('a');
  expect(load).toHaveBeenCalledTimes(1);
  clock.advance(1);
  await cache.get('a');
  expect(load).toHaveBeenCalledTimes(2);
});

test('what is remembered can be loaded anew', async () => {
  let loads = 0;
  const { cache } = cacheOf(async () => ++loads);
  expect(await cache.get('a')).toBe(1);
  expect(await Promise.all([cache.reload('a'), cache.reload('a')])).toEqual([2, 2]);
  expect(await cache.get('a')).toBe(2);
});

test('those who ask for the same key at the same time share one load', async () => {
  const loads: PromiseWithResolvers<unknown>[] = [];
  const { cache } = cacheOf(() => {
    const load = Promise.withResolvers<unknown>();
    loads.push(load);
    return load.promise;
  });
  const asked = [cache.get('a'), cache.get('a'), cache.get('b')];
  expect(loads).toHaveLength(2);
  loads[0]?.resolve(1);
  loads[1]?.resolve(2);
  expect(await Promise.all(asked)).toEqual([1, 1, 2]);
});

test.each([
  ['rejects', () => Promise.reject(new Error('down'))],
  [
    'throws at once',
    () => {
      throw new Error('down');
    },
  ],
])('a load that %s is told to all who wait, and tried again by the next', async (_how, fail) => {
  let isDown = true;
  const { cache } = cacheOf(() => (isDown ? fail() : Promise.resolve('up')));
  const asked = await Promise.allSettled([cache.get('a'), cache.get('a')]);
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isDown = false;
  expect(await cache.get('a')).toBe('up');
});

test('the least recently used goes first when there is no more room', async () => {
  const load = vi.fn<Load>(async (key) => key);
  const { cache } = cacheOf(load);
  for (const key of ['a', 'b', 'a', 'c', 'a']) await cache.get(key);
  expect(load.mock.calls.flat()).toEqual(['a', 'b', 'c']);
  await cache.get('b');
  expect(load).toHaveBeenCalledTimes(4);
});
