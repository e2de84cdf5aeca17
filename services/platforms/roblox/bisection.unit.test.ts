import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { Bisection } from './bisection.ts';

const ids = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const clock = new ManualClock();

/** A platform that rejects every call which names one of these accounts, and what it was called with. */
function platform(rejected: readonly number[], fails: readonly number[] = []) {
  const calls: number[][] = [];
  const bisection = new Bisection<string>(async (asked) => {
    calls.push([...asked]);
    if (asked.some((id) => fails.includes(id))) throw new ApiError('TIMEOUT');
    if (asked.some((id) => rejected.includes(id))) return 'rejected';
    return new Map(asked.map((id) => [id, `told ${id}`]));
  }, clock);
  return { calls, bisection };
}

test('a batch that is accepted takes one call', async () => {
  const { calls, bisection } = platform([]);
  expect((await bisection.load(ids(50))).size).toBe(50);
  expect(calls).toHaveLength(1);
});

test.each([1, 25, 26, 50])('of fifty accounts the one that is rejected, %i, takes no other along', async (rejected) => {
  const { calls, bisection } = platform([rejected]);
  const told = await bisection.load(ids(50));
  expect(told.get(rejected)).toBe('rejected');
  const others = ids(50).filter((id) => id !== rejected);
  expect(others.map((id) => told.get(id))).toEqual(others.map((id) => `told ${id}`));
  expect(calls.length).toBeLessThanOrEqual(13);
});

test('a rejected account is not asked about again for ten minutes', async () => {
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

test('many rejected accounts cost a bounded number of calls, and whoever is left is not known', async () => {
  const rejected = ids(50).filter((id) => id % 3 === 0);
  const { calls, bisection } = platform(rejected);
  const told = await bisection.load(ids(50));
  expect(told.size).toBe(50);
  expect(calls).toHaveLength(25);
  const blamed = [...told].flatMap(([id, value]) => (value === 'rejected' ? [id] : []));
  expect(blamed.filter((id) => !rejected.includes(id))).toEqual([]);
  expect([...told.values()].some((value) => value instanceof ApiError)).toBe(true);
});

test('where every part is rejected no account is blamed, and no other batch is divided for a minute', async () => {
  const { calls, bisection } = platform(ids(50));
  const told = await bisection.load(ids(50));
  expect([...told.values()].every((value) => value instanceof ApiError)).toBe(true);
  calls.length = 0;
  await bisection.load(ids(50));
  expect(calls).toHaveLength(1);
});

test('a part that fails is not known, and blames nobody', async () => {
  const { bisection } = platform([1], [50]);
  const told = await bisection.load(ids(50));
  expect(told.get(50)).toBeInstanceOf(ApiError);
  const { bisection: down, calls } = platform([1], ids(50));
  expect((await down.load(ids(50))).get(1)).toBeInstanceOf(ApiError);
  expect(calls).toHaveLength(1);
});
