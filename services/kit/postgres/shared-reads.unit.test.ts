import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { SharedReads } from './shared-reads.ts';

/** Reads that double numbers; each statement ends when the test says so. */
function heldReads() {
  const statements: { numbers: readonly number[]; end: (error?: Error) => void }[] = [];
  const reads = new SharedReads((numbers: readonly number[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<number[]>();
    const end = (error?: Error) => (error ? reject(error) : resolve(numbers.map((number) => number * 2)));
    statements.push({ numbers, end });
    return promise;
  });
  return { reads, statements, sent: () => statements.map(({ numbers }) => numbers) };
}

test('requests of one turn share a statement, and each gets its own result', async () => {
  const { reads, statements, sent } = heldReads();
  const results = Promise.all([1, 2, 2].map((number) => reads.load(number)));
  await nextTurn();
  expect(sent()).toEqual([[1, 2, 2]]);
  statements[0]?.end();
  expect(await results).toEqual([2, 4, 4]);
});

test('a statement is for at most 64 requests', async () => {
  const { reads, sent } = heldReads();
  for (let number = 0; number < 65; number++) void reads.load(number);
  await nextTurn();
  expect(sent().map(({ length }) => length)).toEqual([64, 1]);
});

test('while two statements are executed, later requests share the next one, also if a statement fails', async () => {
  const { reads, statements, sent } = heldReads();
  const first = reads.load(1);
  await nextTurn();
  const second = reads.load(2);
  await nextTurn();
  const others = [reads.load(3)];
  await nextTurn();
  others.push(reads.load(4));
  await nextTurn();
  expect(sent()).toEqual([[1], [2]]);
  statements[0]?.end(new Error('lost'));
  await expect(first).rejects.toThrow('lost');
  await nextTurn();
  expect(sent()).toEqual([[1], [2], [3, 4]]);
  for (const { end } of statements) end();
  expect(await Promise.all([second, ...others])).toEqual([4, 6, 8]);
  const last = reads.load(5);
  await nextTurn();
  expect(sent()).toHaveLength(4);
  statements[3]?.end();
  expect(await last).toBe(10);
});
