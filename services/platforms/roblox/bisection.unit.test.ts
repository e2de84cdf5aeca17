import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { Bisection } from './bisection.ts';

const ids = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const clock = new ManualClock();

/** A platform that rejects calls with accounts in `rejected` and fails calls with accounts in `fails`. */
function platform(rejected: readonly number[], fails: readonly number[] = []) {
  const calls: number[][] = [];
  const bisection = new Bisection<string>(async (batch) => {
    calls.push([...batch]);
    if (batch.some((id) => fails.includes(id))) throw new ApiError('TIMEOUT');
    if (batch.some((id) => rejected.includes(id))) return 'rejected';
    return new Map(batch.map((id) => [id, `value ${id}`]));
  }, clock);
  return { calls, bisection };
}

test('a batch that is accepted takes one call', async () => {
  const { calls, bisection } = platform([]);
  expect((await bisection.load(ids(50))).size).toBe(50);
  expect(calls).toHaveLength(1);
});

test.each([1, 25, 26, 50])('of fifty accounts only the rejected one, %i, has no value', async (rejected) => {
  const { calls, bisection } = platform([rejected]);
  const results = await bisection.load(ids(50));
  expect(results.get(rejected)).toBe('rejected');
  const others = ids(50).filter((id) => id !== rejected);
  expect(others.map((id) => results.get(id))).toEqual(others.map((id) => `value ${id}`));
  expect(calls.length).toBeLessThanOrEqual(13);
});

test('a rejected account is not queried again for ten minutes', async () => {
  const { calls, bisection } = platform([7]);
  await bisection.load(ids(50));
  calls.length = 0;
  expect((await bisection.load(ids(50))).get(7)).toBe('rejected');
  expect(calls).toEqual([ids(50).filter((id) => id !== 7)]);
  clock.advance(600_000);
  calls.length = 0;
  expect((await bisection.load([7])).get(7)).toBe('rejected');
  expect(calls).toEqual([[7]]);
});

test('many rejected accounts take a bounded number of calls, after which the remaining accounts are errors', async () => {
  const rejected = ids(50).filter((id) => id % 3 === 0);
  const { calls, bisection } = platform(rejected);
  const results = await bisection.load(ids(50));
  expect(results.size).toBe(50);
  expect(calls).toHaveLength(25);
  const reported = [...results].flatMap(([id, value]) => (value === 'rejected' ? [id] : []));
  expect(reported.filter((id) => !rejected.includes(id))).toEqual([]);
  expect([...results.values()].some((value) => value instanceof ApiError)).toBe(true);
});

test('if every part is rejected, no account is reported as rejected and no batch is divided for a minute', async () => {
  const { calls, bisection } = platform(ids(50));
  const results = await bisection.load(ids(50));
  expect([...results.values()].every((value) => value instanceof ApiError)).toBe(true);
  calls.length = 0;
  await bisection.load(ids(50));
  expect(calls).toHaveLength(1);
});

test('accounts in a failed part are errors, and none of them is reported as rejected', async () => {
  const { bisection } = platform([1], [50]);
  const results = await bisection.load(ids(50));
  expect(results.get(50)).toBeInstanceOf(ApiError);
  const { bisection: down, calls } = platform([1], ids(50));
  expect((await down.load(ids(50))).get(1)).toBeInstanceOf(ApiError);
  expect(calls).toHaveLength(1);
});
