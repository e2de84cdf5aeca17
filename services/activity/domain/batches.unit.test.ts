import { expect, test } from 'vitest';
import { ApiError } from '#kit/errors.ts';
import { Batches } from './batches.ts';

/** Numbers below 500, all added in one turn; how each ended, and how many writes it took. */
async function writeAll(refuses: (item: number) => unknown) {
  let writes = 0;
  const batches = new Batches<number, number>({
    write: async (items) => {
      writes++;
      for (const item of items) {
        const error = refuses(item);
        if (error) throw error;
      }
      return items.map((item) => -item);
    },
    keyOf: String,
    gatherMs: 0,
    mostInBatch: 500,
    mostWaiting: 500,
  });
  const items = Array.from({ length: 500 }, (_, n) => n);
  const settled = await Promise.allSettled(items.map((item) => batches.add(item)));
  return { writes, refused: items.filter((item) => settled[item]?.status === 'rejected') };
}

test('one that is refused fails alone, after few writes', async () => {
  for (const fault of [0, 250, 499]) {
    const { writes, refused } = await writeAll((item) => item === fault && new Error('refused'));
    expect(refused).toEqual([fault]);
    expect(writes).toBeLessThanOrEqual(20);
  }
});

test('two that are refused fail alone', async () => {
  const { writes, refused } = await writeAll((item) => [7, 400].includes(item) && new Error('refused'));
  expect(refused).toEqual([7, 400]);
  expect(writes).toBeLessThanOrEqual(40);
});

test('however many are refused, writes are few, and most of the others are written', async () => {
  const all = await writeAll(() => new Error('refused'));
  expect([all.refused.length, all.writes <= 40]).toEqual([500, true]);
  const some = await writeAll((item) => item % 100 === 0 && new Error('refused'));
  expect(some.writes).toBeLessThanOrEqual(40);
  expect(some.refused.length).toBeLessThan(150);
});

test('a part that is down is not tried again', async () => {
  const { writes, refused } = await writeAll(() => new ApiError('UNAVAILABLE'));
  expect([writes, refused.length]).toEqual([1, 500]);
});
