import { expect, test } from 'vitest';
import { inParallel } from './parallel.ts';

test('all items are processed, at most two at a time, and the results are in the order of the items', async () => {
  let [running, maxRunning] = [0, 0];
  const results = await inParallel([5, 1, 4, 2, 3], 2, async (item) => {
    maxRunning = Math.max(maxRunning, ++running);
    for (let turn = 0; turn < item; turn++) await Promise.resolve();
    running--;
    return item * 10;
  });
  expect(results).toEqual([50, 10, 40, 20, 30]);
  expect(maxRunning).toBe(2);
  expect(await inParallel([], 2, async () => 1)).toEqual([]);
});

test('no further item is started after the signal is aborted', async () => {
  const stop = new AbortController();
  const started: number[] = [];
  const work = async (item: number) => {
    started.push(item);
    if (item === 2) stop.abort();
    return item;
  };
  expect(await inParallel([1, 2, 3, 4], 1, work, stop.signal)).toEqual([1, 2, undefined, undefined]);
  expect(started).toEqual([1, 2]);
});

test('the first error is thrown', async () => {
  await expect(inParallel([1], 3, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
});
