import { expect, test } from 'vitest';
import { retrySeconds } from './schedule.ts';

test('the delays between attempts are those of the contract, and there are ten attempts', () => {
  const delays = Array.from({ length: 10 }, (_, index) => retrySeconds(index + 1, () => 0));
  expect(delays).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400, null]);
});

test('jitter lengthens a delay by up to a tenth', () => {
  expect(retrySeconds(1, () => 1)).toBe(5.5);
  expect(retrySeconds(9, () => 0.5)).toBeCloseTo(86_400 * 1.05);
});
