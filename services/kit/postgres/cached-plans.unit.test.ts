import { Client } from 'pg';
import { expect, test } from 'vitest';
import { CachedPlans } from './cached-plans.ts';

test('the plans of each connection are discarded when they are old, and those of a new connection are not', () => {
  let now = 1_000;
  const plans = new CachedPlans(50, () => now);
  const [first, second] = [new Client(), new Client()];
  expect(plans.claimDiscard(first)).toBe(false);
  now += 30;
  expect([plans.claimDiscard(first), plans.claimDiscard(second)]).toEqual([false, false]);
  now += 20;
  expect([plans.claimDiscard(first), plans.claimDiscard(first), plans.claimDiscard(second)]).toEqual([
    true,
    false,
    false,
  ]);
  now += 50;
  expect([plans.claimDiscard(first), plans.claimDiscard(second)]).toEqual([true, true]);
});
