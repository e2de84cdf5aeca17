import { expect, test } from 'vitest';
import { ApiError } from '#kit/errors.ts';
import { BatchWriter } from './batch-writer.ts';

/** Adds the numbers from 0 to 499 in one turn; returns the rejected ones and the number of writes. */
async function writeAll(faultOf: (item: number) => unknown) {
  let writes = 0;
  const writer = new BatchWriter<number, number>({
    write: async (items) => {
      writes++;
      for (const item of items) {
        const error = faultOf(item);
        if (error) throw error;
      }
      return items.map((item) => -item);
    },
    keyOf: String,
    delayMs: 0,
    maxBatchSize: 500,
    maxWaiting: 500,
  });
  const items = Array.from({ length: 500 }, (_, n) => n);
  const settled = await Promise.allSettled(items.map((item) => writer.add(item)));
  return { writes, rejected: items.filter((item) => settled[item]?.status === 'rejected') };
}

test('one faulty item fails alone, after few writes', async () => {
  for (const fault of [0, 250, 499]) {
    const { writes, rejected } = await writeAll((item) => item === fault && new Error('faulty'));
    expect(rejected).toEqual([fault]);
    expect(writes).toBeLessThanOrEqual(20);
  }
});

test('two faulty items fail alone', async () => {
  const { writes, rejected } = await writeAll((item) => [7, 400].includes(item) && new Error('faulty'));
  expect(rejected).toEqual([7, 400]);
  expect(writes).toBeLessThanOrEqual(40);
});

test('with many faulty items the number of writes stays limited, and most other items are written', async () => {
  const all = await writeAll(() => new Error('faulty'));
  expect([all.rejected.length, all.writes <= 40]).toEqual([500, true]);
  const some = await writeAll((item) => item % 100 === 0 && new Error('faulty'));
  expect(some.writes).toBeLessThanOrEqual(40);
  expect(some.rejected.length).toBeLessThan(150);
});

test('a batch that fails because the database is unavailable is not split', async () => {
  const { writes, rejected } = await writeAll(() => new ApiError('UNAVAILABLE'));
  expect([writes, rejected.length]).toEqual([1, 500]);
});
