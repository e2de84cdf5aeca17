import { expect, test } from 'vitest';
import { Batches } from './batches.ts';

const MOST = 3;

/** Answers each question with its double; `calls` tells what was asked together. */
function doubling() {
  const calls: { group: string; questions: readonly number[] }[] = [];
  const batches = new Batches(async (group: string, questions: readonly number[]) => {
    calls.push({ group, questions });
    if (group === 'broken') throw new Error('no answer');
    return questions.map((question) => question * 2);
  }, MOST);
  return { calls, batches };
}

test('what is asked in one turn is one call for each group, and each has its own answer', async () => {
  const { calls, batches } = doubling();
  const asked = [batches.ask('a', 1), batches.ask('b', 2), batches.ask('a', 3)];
  expect(calls).toEqual([]);
  expect(await Promise.all(asked)).toEqual([2, 4, 6]);
  expect(calls).toEqual([
    { group: 'a', questions: [1, 3] },
    { group: 'b', questions: [2] },
  ]);
  expect(await batches.ask('a', 4)).toBe(8);
  expect(calls).toHaveLength(3);
});

test('no call has more than the most, and no question is lost or asked twice', async () => {
  const { calls, batches } = doubling();
  const numbers = Array.from({ length: 10 }, (_, index) => index);
  expect(await Promise.all(numbers.map((number) => batches.ask('a', number)))).toEqual(numbers.map((each) => each * 2));
  expect(calls.map(({ questions }) => questions.length)).toEqual([3, 3, 3, 1]);
  expect(calls.flatMap(({ questions }) => questions)).toEqual(numbers);
});

test('a call that fails is told to all who asked with it, and to nobody else', async () => {
  const { batches } = doubling();
  const outcomes = await Promise.allSettled([batches.ask('broken', 1), batches.ask('a', 2), batches.ask('broken', 3)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
});
