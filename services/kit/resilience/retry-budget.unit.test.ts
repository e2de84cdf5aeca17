import { expect, test } from 'vitest';
import { seededRandom } from '#test/random.ts';
import { RetryBudget } from './retry-budget.ts';

test('retries never exceed a tenth of the calls, in any order of calls and retries', () => {
  const random = seededRandom(11);
  const budget = new RetryBudget();
  let [calls, retries] = [0, 0];
  for (let step = 0; step < 100_000; step++) {
    if (random() < 0.5) {
      budget.called();
      calls++;
    } else if (budget.take()) retries++;
    expect(retries * 10).toBeLessThanOrEqual(calls);
  }
  expect(retries).toBeGreaterThan(calls / 11);
});

test('at most a hundred retries are saved', () => {
  const budget = new RetryBudget();
  for (let call = 0; call < 50_000; call++) budget.called();
  let retries = 0;
  while (budget.take()) retries++;
  expect(retries).toBe(100);
});
