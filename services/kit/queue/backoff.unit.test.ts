import { expect, test } from 'vitest';
import { backoffMs, outageBackoffMs } from './backoff.ts';

test('the time between attempts doubles up to a minute, and up to half of it is random', () => {
  const between = (attempts: number) => [backoffMs(attempts, {}, () => 0), backoffMs(attempts, {}, () => 1)];
  expect([1, 2, 3, 8, 100].map(between)).toEqual([
    [250, 500],
    [500, 1_000],
    [1_000, 2_000],
    [30_000, 60_000],
    [30_000, 60_000],
  ]);
  expect([outageBackoffMs(() => 0), outageBackoffMs(() => 1)]).toEqual([2_000, 4_000]);
});
