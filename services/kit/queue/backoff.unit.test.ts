import { expect, test } from 'vitest';
import { backoffMs } from '../resilience/backoff.ts';
import { ITEM_BACKOFF, outageBackoffMs } from './backoff.ts';

test('the time between attempts doubles up to a minute, and up to half of it is random', () => {
  const delay = (attempts: number, random: number) => backoffMs(attempts, { ...ITEM_BACKOFF, random: () => random });
  const between = (attempts: number) => [delay(attempts, 1), delay(attempts, 0)];
  expect([1, 2, 3, 8, 100].map(between)).toEqual([
    [250, 500],
    [500, 1_000],
    [1_000, 2_000],
    [30_000, 60_000],
    [30_000, 60_000],
  ]);
  expect([outageBackoffMs(() => 1), outageBackoffMs(() => 0)]).toEqual([2_000, 4_000]);
});
