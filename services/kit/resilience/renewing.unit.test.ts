import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { whileRenewing } from './renewing.ts';

const EVERY_MS = 5;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('renews until the work settles, one call at a time, and waits for the last renewal', async () => {
  const calls: PromiseWithResolvers<void>[] = [];
  const renew = () => {
    const call = Promise.withResolvers<void>();
    calls.push(call);
    return call.promise;
  };
  const work = Promise.withResolvers<string>();
  const settled = vi.fn<(outcome: string) => void>();
  const outcome = whileRenewing(EVERY_MS, renew, () => work.promise).then(settled);

  await vi.advanceTimersByTimeAsync(10 * EVERY_MS);
  expect(calls).toHaveLength(1);
  calls[0]?.resolve();
  await vi.advanceTimersByTimeAsync(10 * EVERY_MS);
  expect(calls).toHaveLength(2);

  work.resolve('done');
  await vi.advanceTimersByTimeAsync(10 * EVERY_MS);
  expect(settled).not.toHaveBeenCalled();
  calls[1]?.resolve();
  await outcome;
  expect(settled).toHaveBeenCalledWith('done');
  await vi.advanceTimersByTimeAsync(10 * EVERY_MS);
  expect(calls).toHaveLength(2);
});

test('a failed renewal stops neither the work nor the next renewal', async () => {
  const renew = vi.fn<() => Promise<void>>().mockRejectedValue(new Error('out of reach'));
  const work = Promise.withResolvers<void>();
  const outcome = whileRenewing(EVERY_MS, renew, () => work.promise);
  await vi.advanceTimersByTimeAsync(3 * EVERY_MS);
  expect(renew).toHaveBeenCalledTimes(3);
  work.reject(new Error('the work failed'));
  await expect(outcome).rejects.toThrow('the work failed');
});
