import { expect, test } from 'vitest';
import { seededRandom } from '#test/random.ts';
import { RetryBudget } from './retry-budget.ts';

test('at no time are there more repeats than a tenth of the calls, in whatever order they come', () => {
  const random = seededRandom(11);
  const budget = new RetryBudget();
  let [calls, repeats] = [0, 0];
  for (let step = 0; step < 100_000; step++) {
    if (random() < 0.5) {
      budget.called();
      calls++;
    } else if (budget.take()) repeats++;
    expect(repeats * 10).toBeLessThanOrEqual(calls);
  }
  expect(repeats).toBeGreaterThan(calls / 11);
});

test('quiet times save up a hundred repeats and no more', () => {
  const budget = new RetryBudget();
  for (let call = 0; call < 50_000; call++) budget.called();
  let repeats = 0;
  while (budget.take()) repeats++;
  expect(repeats).toBe(100);
});
