import { expect, test, vi } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { requestContext, withPurpose } from '#kit/context.ts';
import { BatchCache } from './batch-cache.ts';

type Load = (keys: readonly number[]) => Promise<ReadonlyMap<number, string>>;

function cacheOf(load: Load) {
  const clock = new ManualClock();
  const isCacheable = (value: string) => value !== 'unknown';
  return { clock, cache: new BatchCache({ ttlMs: 1000, max: 4, batch: 3, clock, load, isCacheable }) };
}

const name: Load = async (keys) => new Map(keys.map((key) => [key, `#${key}`]));

test('keys are loaded in batches, each key once until its TTL has passed', async () => {
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

test('a value that may not be cached is loaded again', async () => {
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

test('a failed load rejects all callers that wait for it and is tried again by the next caller', async () => {
  const load = vi.fn<Load>(name).mockRejectedValueOnce(new Error('gone'));
  const { cache } = cacheOf(load);
  const outcomes = await Promise.allSettled([cache.get([1, 2]), cache.get([2])]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await cache.get([1])).toEqual(new Map([[1, '#1']]));
});

test('the least recently used entries are evicted above the maximum', async () => {
  const load = vi.fn<Load>(name);
  const { cache } = cacheOf(load);
  await cache.get([1, 2, 3]);
  await cache.get([4, 5, 6]);
  await cache.get([3, 4, 5, 6]);
  expect(load).toHaveBeenCalledTimes(2);
  await cache.get([2]);
  expect(load).toHaveBeenLastCalledWith([2]);
});

test('background work loads together what is requested within the time to gather; the first load is immediate', async () => {
  const load = vi.fn<Load>(name);
  const options = { ttlMs: 1000, max: 9, batch: 3, clock: new ManualClock(), load, isCacheable: () => true };
  const cache = new BatchCache({ ...options, gatherMs: 50 });
  const get = (...keys: number[]) => withPurpose('background', () => cache.get(keys));
  expect(await get(1)).toEqual(new Map([[1, '#1']]));
  const values = await Promise.all([get(2), get(3, 2), get(4, 5), cache.get([6])]);
  expect(values.map((found) => [...found.keys()])).toEqual([[2], [3, 2], [4, 5], [6]]);
  expect(load.mock.calls).toEqual([[[1]], [[6]], [[2, 3, 4]], [[5]]]);
});

test('a load for background work of several guilds counts for none of them, a load for a caller for its own', async () => {
  const guilds: (string | undefined)[] = [];
  const load: Load = (keys) => {
    guilds.push(requestContext.getStore()?.guildId);
    return name(keys);
  };
  const options = { ttlMs: 1000, max: 9, batch: 3, clock: new ManualClock(), load, isCacheable: () => true };
  const cache = new BatchCache({ ...options, gatherMs: 20 });
  const get = (guildId: string, key: number) =>
    requestContext.run({ requestId: 'test', route: 'test', guildId }, () => cache.get([key]));
  await withPurpose('background', () => Promise.all([get('one', 1), get('two', 2)]));
  await get('one', 3);
  expect(guilds).toEqual([undefined, 'one']);
});

test('a load of gathered keys that fails fails for its callers only', async () => {
  const load = vi.fn<Load>(name).mockRejectedValueOnce(new Error('down'));
  const options = { ttlMs: 1000, max: 9, batch: 3, clock: new ManualClock(), load, isCacheable: () => true };
  const cache = new BatchCache({ ...options, gatherMs: 20 });
  const get = (key: number) => withPurpose('background', () => cache.get([key]));
  const failed = await Promise.allSettled([get(1), get(2)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await get(1)).toEqual(new Map([[1, '#1']]));
});

test('a value that was loaded before `since` is loaded again, also if its load was still in flight then', async () => {
  const first = Promise.withResolvers<ReadonlyMap<number, string>>();
  const load = vi.fn<Load>(async (keys) => new Map(keys.map((key) => [key, 'new'])));
  load.mockReturnValueOnce(first.promise);
  const { cache } = cacheOf(load);
  const early = cache.get([1]);
  const late = cache.get([1, 2], { since: performance.now() });
  first.resolve(new Map([[1, 'old']]));
  expect([await early, await late]).toEqual([
    new Map([[1, 'old']]),
    new Map([
      [1, 'new'],
      [2, 'new'],
    ]),
  ]);
  expect(load.mock.calls).toEqual([[[1]], [[2]], [[1]]]);
  expect(await cache.get([1], { since: performance.now() - 60_000 })).toEqual(new Map([[1, 'new']]));
  expect(load).toHaveBeenCalledTimes(3);
});
