import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { whileRenewing } from './renewing.ts';

test('renews as long as the work takes, one call at a time, and no call is under way afterwards', async () => {
  let [begun, running, most] = [0, 0, 0];
  const renew = async () => {
    begun += 1;
    running += 1;
    most = Math.max(most, running);
    await sleep(15);
    running -= 1;
  };
  const enough = async () => {
    await vi.waitUntil(() => begun >= 3, { interval: 1 });
    return 'done';
  };
  expect(await whileRenewing(5, renew, enough)).toBe('done');
  expect([most, running]).toEqual([1, 0]);
  const before = begun;
  await sleep(30);
  expect(begun).toBe(before);
});

test('a renewal that fails keeps neither the work nor the next renewal from going on', async () => {
  let begun = 0;
  const renew = async () => {
    begun += 1;
    throw new Error('out of reach');
  };
  const failing = async () => {
    await vi.waitUntil(() => begun >= 3, { interval: 1 });
    throw new Error('the work failed');
  };
  await expect(whileRenewing(2, renew, failing)).rejects.toThrow('the work failed');
});
