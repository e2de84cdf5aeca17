import { expect, test } from 'vitest';
import { backoffMs } from './backoff.ts';

const LIMITS = { minMs: 100, maxMs: 1_000 };

test('the delay doubles with each attempt up to its maximum', () => {
  const delays = [1, 2, 3, 4, 5, 1_000].map((attempts) => backoffMs(attempts, { ...LIMITS, jitter: 0 }));
  expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000]);
});

test('jitter shortens a delay by at most its share', () => {
  const delay = (random: number, jitter?: number) =>
    backoffMs(2, { ...LIMITS, random: () => random, ...(jitter === undefined ? {} : { jitter }) });
  expect([delay(0), delay(1)]).toEqual([200, 100]);
  expect([delay(0, 0.2), delay(1, 0.2)]).toEqual([200, 160]);
});
