import { expect, test, vi } from 'vitest';
import { ManualClock } from '../clock.ts';
import { LoadingCache } from './cache.ts';

type Load = (key: string) => Promise<unknown>;

function cacheOf(load: Load) {
  const clock = new ManualClock();
  return { clock, cache: new LoadingCache({ ttlMs: 1000, max: 2, clock, load }) };
}

test('a value is loaded once until its TTL ends, then again', async () => {
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

test('reload replaces a cached value', async () => {
  let loads = 0;
  const { cache } = cacheOf(async () => ++loads);
  expect(await cache.get('a')).toBe(1);
  expect(await Promise.all([cache.reload('a'), cache.reload('a')])).toEqual([2, 2]);
  expect(await cache.get('a')).toBe(2);
});

test('concurrent callers of one key share one load', async () => {
  const loads: PromiseWithResolvers<unknown>[] = [];
  const { cache } = cacheOf(() => {
    const load = Promise.withResolvers<unknown>();
    loads.push(load);
    return load.promise;
  });
  const results = [cache.get('a'), cache.get('a'), cache.get('b')];
  expect(loads).toHaveLength(2);
  loads[0]?.resolve(1);
  loads[1]?.resolve(2);
  expect(await Promise.all(results)).toEqual([1, 1, 2]);
});

test.each([
  ['rejects', () => Promise.reject(new Error('down'))],
  [
    'throws synchronously',
    () => {
      throw new Error('down');
    },
  ],
])('a load that %s fails for all waiting callers, and the next caller loads again', async (_how, fail) => {
  let isDown = true;
  const { cache } = cacheOf(() => (isDown ? fail() : Promise.resolve('up')));
  const results = await Promise.allSettled([cache.get('a'), cache.get('a')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isDown = false;
  expect(await cache.get('a')).toBe('up');
});

test('a full cache evicts the least recently used entry first', async () => {
  const load = vi.fn<Load>(async (key) => key);
  const { cache } = cacheOf(load);
  for (const key of ['a', 'b', 'a', 'c', 'a']) await cache.get(key);
  expect(load.mock.calls.flat()).toEqual(['a', 'b', 'c']);
  await cache.get('b');
  expect(load).toHaveBeenCalledTimes(4);
});

test('a value that was loaded before `since` is loaded again, also if its load was still in flight then', async () => {
  const first = Promise.withResolvers<string>();
  const load = vi.fn<Load>(async () => 'new');
  load.mockReturnValueOnce(first.promise);
  const { cache } = cacheOf(load);
  const early = cache.get('a');
  const late = cache.get('a', { since: performance.now() });
  first.resolve('old');
  expect([await early, await late]).toEqual(['old', 'new']);
  expect(await cache.get('a', { since: performance.now() - 60_000 })).toBe('new');
  expect(load).toHaveBeenCalledTimes(2);
});
